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
  readonly requested?: string
  readonly alias?: string
  readonly unknown?: readonly string[]
}

/** All names that a call is given while each of them fails for the reason. */
function chain(
  reason: FallbackReason,
  { header, requested = 'a', alias = requested, unknown = [] }: Given = {},
): string[] {
  const plan = createFallbackPlan({
    settings,
    requested: { name: requested, alias },
    header,
    isServed: name => !unknown.includes(name),
  })
  const names: string[] = []
  for (let failed = { name: requested, alias }; ; ) {
    const name = plan.next(failed, reason)
    if (name === undefined) return names
    names.push(name)
    failed = { name, alias: name }
  }
}

const table = [
  ['the list of the model that failed, then that of the requested model', 'exhausted', {}, ['b', 'd', 'c']],
  ['a prompt that is too long has a list of its own', 'context_window', {}, ['long']],
  ['a policy error has its own list', 'policy', {}, ['lenient']],
  ['the caller’s own list comes first', 'exhausted', { header: ' z , b' }, ['z', 'b', 'd', 'c']],
  ['the caller’s own list counts for any reason', 'policy', { header: 'z' }, ['z', 'lenient']],
  ['names without a deployment are skipped', 'exhausted', { header: 'nope', unknown: ['nope', 'b'] }, ['c']],
  ['each name occurs once, the requested one never', 'exhausted', { header: 'a,z,z,a' }, ['z', 'b', 'd', 'c']],
  ['five at most', 'exhausted', { header: '1,2,3,4,5,6,7' }, ['1', '2', '3', '4', '5']],
  ['a wildcard’s list counts for what it covers', 'exhausted', { requested: 'x/y', alias: 'x/*' }, ['c']],
  ['without a list there is none', 'exhausted', { requested: 'lonely' }, []],
  ['names of JavaScript’s own members are not lists', 'exhausted', { requested: 'constructor' }, []],
] as const

for (const [name, reason, given, expected] of table) {
  test(`fallbacks: ${name}`, () => assert.deepEqual(chain(reason, given), expected))
}

test('reachableNames returns every name that a plan can reach, and none without a deployment', () => {
  const aliasOf = (name: string) => (name === 'c' ? undefined : name.startsWith('x/') ? 'x/*' : name)
  const reach = (requested: string, header?: string) =>
    reachableNames({ settings, requested, header, aliasOf }).toSorted()
  assert.deepEqual(reach('a'), ['a', 'b', 'd', 'lenient', 'long'])
  assert.deepEqual(reach('b'), ['b', 'd'])
  assert.deepEqual(reach('x/y'), ['x/y'])
  assert.deepEqual(reach('d', 'b, c'), ['b', 'd'])
})

test('a cycle of fallbacks is followed once', () => {
  const circle = { ...settings, fallbacks: { a: ['b'], b: ['a'] }, contextWindowFallbacks: {}, policyFallbacks: {} }
  assert.deepEqual(reachableNames({ settings: circle, requested: 'a', header: 'b', aliasOf: name => name }), ['a', 'b'])
})
