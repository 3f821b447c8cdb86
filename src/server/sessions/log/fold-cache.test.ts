import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionEvent } from '../../../contract/events.ts'
import { FoldCache } from './fold-cache.ts'

/** A reading that collects event numbers. */
const reading = {
  begin: () => [] as number[],
  add: (state: unknown, { seq }: SessionEvent) => void (state as number[]).push(seq),
  copy: (state: unknown) => [...(state as number[])],
  bytesOf: () => 7,
}
const fold = (bytes: number, last = 1) => ({ state: reading.begin(), reading, last, bytes })
const event = (seq: number, fields: object = {}): SessionEvent => ({
  id: `evt_${seq}`,
  type: 'agent.message',
  content: [],
  processed_at: '2026-01-01T00:00:00.000Z',
  seq,
  ...fields,
})

test('a fold that was taken is absent until it is put back', () => {
  const cache = new FoldCache()
  cache.put('a', fold(10))
  const taken = cache.take('a')
  assert.deepEqual([taken, cache.take('a'), cache.bytes], [fold(10), undefined, 0])
  cache.put('a', fold(20, 2))
  cache.put('a', fold(30, 3))
  assert.deepEqual([cache.bytes, cache.take('a')?.last], [30, 3])
})

test('the most recently used folds stay within the byte limit', () => {
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

test('events that continue a fold are added to it; others are ignored', () => {
  const cache = new FoldCache()
  cache.put('a', fold(10))
  cache.note('a', [event(2), event(3)])
  cache.note('a', [event(5)])
  cache.note('a', [event(4)])
  cache.note('a', [])
  cache.note('b', [event(1)])
  const known = cache.take('a')
  assert.deepEqual([known?.state, known?.last], [[2, 3, 4], 4])
  assert.ok((known?.bytes ?? 0) > 200, 'the events count')
  assert.equal(cache.take('b'), undefined)
})

test('a compaction leaves the retained events', () => {
  const cache = new FoldCache()
  cache.put('a', fold(1_000))
  cache.note('a', [event(2, { type: 'agent.thread_context_compacted', kept_from_seq: 2 })])
  assert.equal(cache.bytes, 7)
})
