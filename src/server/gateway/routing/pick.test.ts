import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { deploymentAt, targetAt } from '../../../../test/support/gateway/gateway-app.ts'
import type { Target } from '../core/call.ts'
import { pick } from './pick.ts'

const target = (id: string, weight = 1): Target => targetAt(deploymentAt('http://x', { id, weight }), 'm')
const idOf = (picked: Target | undefined) => picked?.deployment.id
const by = (draw: number, full: readonly string[] = []) => ({
  random: () => draw,
  session: undefined,
  isFull: ({ id }: { id: string }) => full.includes(id),
})

const group = [target('a', 3), target('b'), target('spare', 0)]
const draws = [
  ['a heavy deployment gets its share', group, by(0.74), 'a'],
  ['a light one gets the rest', group, by(0.75), 'b'],
  ['weight 0 is not taken while there is another', group, by(0.999), 'b'],
  ['weight 0 is taken when all others are full', group, by(0, ['a', 'b']), 'spare'],
  ['a full deployment is passed over', group, by(0, ['a']), 'b'],
  ['when all are full they are used all the same', group, by(0, ['a', 'b', 'spare']), 'a'],
  ['weight 0 alone is used', [target('s', 0), target('t', 0)], by(0.6), 't'],
  ['the only one is used, full or not', [target('a')], by(0, ['a']), 'a'],
  ['of none, none', [], by(0), undefined],
] as const

for (const [name, targets, picking, expected] of draws) {
  test(name, () => assert.equal(idOf(pick(targets, picking)), expected))
}

const sticky = (session: string) => ({ random: () => assert.fail('drawn'), session, isFull: () => false })

test('a session keeps its deployment, whatever the order of the list', () => {
  fc.assert(
    fc.property(fc.string(), fc.shuffledSubarray(['a', 'b', 'c', 'd'], { minLength: 4 }), (session, order) => {
      const usual = pick(
        ['a', 'b', 'c', 'd'].map(id => target(id)),
        sticky(session),
      )
      assert.equal(
        idOf(
          pick(
            order.map(id => target(id)),
            sticky(session),
          ),
        ),
        idOf(usual),
      )
    }),
  )
})

test('when a deployment is removed only its own sessions move', () => {
  fc.assert(
    fc.property(fc.string(), session => {
      const before = idOf(
        pick(
          ['a', 'b', 'c'].map(id => target(id)),
          sticky(session),
        ),
      )
      const after = idOf(
        pick(
          ['a', 'b'].map(id => target(id)),
          sticky(session),
        ),
      )
      if (before !== 'c') assert.equal(after, before)
    }),
  )
})

test('sessions are spread by weight', () => {
  const counts = new Map<string | undefined, number>()
  const targets = [target('a', 3), target('b', 1)]
  for (let n = 0; n < 20_000; n++) {
    const id = idOf(pick(targets, sticky(`session-${n}`)))
    counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  const share = (counts.get('a') ?? 0) / 20_000
  assert.ok(Math.abs(share - 0.75) < 0.02, `a got ${share}`)
})
