import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createCallSignatures } from './reasoning-signers.ts'

test('K5: a signature is found again by the id of its call', () => {
  const signatures = createCallSignatures()
  signatures.set('call_1', 'one')
  signatures.set('call_1', 'two')
  assert.equal(signatures.get('call_1'), 'two')
  assert.equal(signatures.get('call_2'), undefined)
})

test('the least recently used signature is evicted at the capacity', () => {
  const signatures = createCallSignatures(2)
  signatures.set('a', '1')
  signatures.set('b', '2')
  signatures.get('a')
  signatures.set('c', '3')
  assert.deepEqual(['a', 'b', 'c'].map(signatures.get), ['1', undefined, '3'])
})

test('the store never contains more than its capacity', () => {
  const ids = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', '__proto__'), { maxLength: 40 })
  fc.assert(
    fc.property(ids, fc.integer({ min: 1, max: 4 }), (used, capacity) => {
      const signatures = createCallSignatures(capacity)
      for (const id of used) signatures.set(id, `of ${id}`)
      const latest = [...new Set(used.toReversed())]
      for (const id of latest.slice(0, capacity)) assert.equal(signatures.get(id), `of ${id}`)
      for (const id of latest.slice(capacity)) assert.equal(signatures.get(id), undefined)
    }),
  )
})
