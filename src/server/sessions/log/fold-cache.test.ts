import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FoldCache } from './fold-cache.ts'

const fold = (bytes: number, last = 1) => ({ state: {}, last, bytes })

test('what was handed out is not here until it is given back', () => {
  const cache = new FoldCache()
  cache.put('a', fold(10))
  const taken = cache.take('a')
  assert.deepEqual([taken, cache.take('a'), cache.bytes], [fold(10), undefined, 0])
  cache.put('a', fold(20, 2))
  cache.put('a', fold(30, 3))
  assert.deepEqual([cache.bytes, cache.take('a')?.last], [30, 3])
})

test('those that were used last stay, within the bytes', () => {
  const cache = new FoldCache(100)
  for (const id of ['a', 'b', 'c']) cache.put(id, fold(30))
  const used = cache.take('a')
  assert.ok(used)
  cache.put('a', used)
  cache.put('d', fold(40))
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map(id => cache.take(id) !== undefined),
    [true, false, true, true],
  )
  cache.put('huge', fold(101))
  assert.deepEqual([cache.take('huge'), cache.bytes], [undefined, 0])
})
