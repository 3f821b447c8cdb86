import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createCallSignatures } from './reasoning-seal.ts'

test('K5: a signature is found again by the id of its call', () => {
  const signatures = createCallSignatures()
  signatures.remember('call_1', 'one')
  signatures.remember('call_1', 'two')
  assert.equal(signatures.recall('call_1'), 'two')
  assert.equal(signatures.recall('call_2'), undefined)
})

test('what was used last stays when the room is used up', () => {
  const signatures = createCallSignatures(2)
  signatures.remember('a', '1')
  signatures.remember('b', '2')
  signatures.recall('a')
  signatures.remember('c', '3')
  assert.deepEqual(['a', 'b', 'c'].map(signatures.recall), ['1', undefined, '3'])
})

test('memory is bounded: never more than the capacity is kept', () => {
  const ids = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', '__proto__'), { maxLength: 40 })
  fc.assert(
    fc.property(ids, fc.integer({ min: 1, max: 4 }), (used, capacity) => {
      const signatures = createCallSignatures(capacity)
      for (const id of used) signatures.remember(id, `of ${id}`)
      const latest = [...new Set(used.toReversed())]
      for (const id of latest.slice(0, capacity)) assert.equal(signatures.recall(id), `of ${id}`)
      for (const id of latest.slice(capacity)) assert.equal(signatures.recall(id), undefined)
    }),
  )
})
