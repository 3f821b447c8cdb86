import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Recent } from './recent.ts'

test('the least recently used entry is evicted first', () => {
  const recent = new Recent<number>(2)
  recent.set('a', 1)
  recent.set('b', 2)
  assert.equal(recent.get('a'), 1)
  recent.set('c', 3)
  assert.deepEqual(
    ['a', 'b', 'c'].map(name => recent.get(name)),
    [1, undefined, 3],
  )
})

test('an entry that was taken is no longer cached', () => {
  const recent = new Recent<number>(2)
  recent.set('a', 1)
  assert.deepEqual([recent.take('a'), recent.take('a'), recent.get('a')], [1, undefined, undefined])
})
