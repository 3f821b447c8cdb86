import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFallbackPlan, type FallbackReason, reachableNames } from './fallbacks.ts'

const settings = {
  fallbacks: { a: ['b', 'c'], b: ['d'], 'x/*': ['c'] },
  contextWindowFallbacks: { a: ['long'] },
  policyFallbacks: { a: ['lenient'] },
}

interface Given {
  readonly header?: string
  readonly asked?: string
  readonly alias?: string
  readonly unknown?: readonly string[]
}

/** All names that a call is given while each of them fails for the reason. */
function chain(reason: FallbackReason, { header, asked = 'a', alias = asked, unknown = [] }: Given = {}): string[] {
  const plan = createFallbackPlan({
    settings,
    asked: { name: asked, alias },
    header,
    isServed: name => !unknown.includes(name),
  })
  const names: string[] = []
  for (let failed = { name: asked, alias }; ; ) {
    const name = plan.next(failed, reason)
    if (name === undefined) return names
    names.push(name)
    failed = { name, alias: name }
  }
}

const table = [
  ['the list of the model that failed, then that of the model asked for', 'exhausted', {}, ['b', 'd', 'c']],
  ['a prompt that is too long has a list of its own', 'context_window', {}, ['long']],
  ['a refusal by policy has a list of its own', 'policy', {}, ['lenient']],
  ['the caller’s own list comes first', 'exhausted', { header: ' z , b' }, ['z', 'b', 'd', 'c']],
  ['the caller’s own list counts for any reason', 'policy', { header: 'z' }, ['z', 'lenient']],
  ['names that nobody serves are skipped', 'exhausted', { header: 'nope', unknown: ['nope', 'b'] }, ['c']],
  ['each name comes once, the asked one never', 'exhausted', { header: 'a,z,z,a' }, ['z', 'b', 'd', 'c']],
  ['five at most', 'exhausted', { header: '1,2,3,4,5,6,7' }, ['1', '2', '3', '4', '5']],
  ['a wildcard’s list counts for what it covers', 'exhausted', { asked: 'x/y', alias: 'x/*' }, ['c']],
  ['without a list there is none', 'exhausted', { asked: 'lonely' }, []],
  ['names of the language itself are no lists', 'exhausted', { asked: 'constructor' }, []],
] as const

for (const [name, reason, given, expected] of table) {
  test(`fallbacks: ${name}`, () => assert.deepEqual(chain(reason, given), expected))
}

test('every name that a plan can come to is reachable, by whatever reason, and none that nobody serves', () => {
  const aliasOf = (name: string) => (name === 'c' ? undefined : name.startsWith('x/') ? 'x/*' : name)
  const reach = (asked: string, header?: string) => reachableNames({ settings, asked, header, aliasOf }).toSorted()
  assert.deepEqual(reach('a'), ['a', 'b', 'd', 'lenient', 'long'])
  assert.deepEqual(reach('b'), ['b', 'd'])
  assert.deepEqual(reach('x/y'), ['x/y'])
  assert.deepEqual(reach('d', 'b, c'), ['b', 'd'])
})

test('a circle of fallbacks is walked once', () => {
  const circle = { ...settings, fallbacks: { a: ['b'], b: ['a'] }, contextWindowFallbacks: {}, policyFallbacks: {} }
  assert.deepEqual(reachableNames({ settings: circle, asked: 'a', header: 'b', aliasOf: name => name }), ['a', 'b'])
})
