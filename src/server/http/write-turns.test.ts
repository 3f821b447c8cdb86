import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { WriteTurns } from './write-turns.ts'

test('V2: large writes of many streams are spread over event loop turns, first come, first served', async () => {
  const turns = new WriteTurns()
  const written: number[] = []
  const all = Array.from({ length: 20 }, (_, at) => turns.take(64 * 1024).then(() => written.push(at)))
  const seen: number[] = []
  while (written.length < all.length) {
    seen.push(written.length)
    await nextTurn()
  }
  await Promise.all(all)
  assert.deepEqual(seen, [0, 4, 8, 12, 16])
  assert.deepEqual(
    written,
    written.toSorted((a, b) => a - b),
  )
})

test('V2: a frame larger than a turn gets a separate turn', async () => {
  const turns = new WriteTurns()
  const written: string[] = []
  const large = turns.take(10 * 1024 * 1024).then(() => written.push('large'))
  const small = turns.take(1).then(() => written.push('small'))
  await nextTurn()
  assert.deepEqual(written, ['large'])
  await Promise.all([large, small])
  assert.deepEqual(written, ['large', 'small'])
})
