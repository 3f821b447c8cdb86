import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionEvent } from '../../../contract/events.ts'
import { HistoryCache } from './history-cache.ts'

const eventsFrom = (first: number, count: number): SessionEvent[] =>
  Array.from({ length: count }, (_, at) => ({
    id: `evt_${first + at}`,
    type: 'agent.message',
    content: [],
    processed_at: '2026-01-01T00:00:00.000Z',
    seq: first + at,
  }))
const page = (first: number, count: number) => ({ events: eventsFrom(first, count), bytes: count * 100 })
const seqs = (cache: HistoryCache, id: string) => cache.eventsOf(id).map(({ seq }) => seq)

test('a history grows at its end and ignores events that leave a gap', () => {
  const cache = new HistoryCache()
  cache.add('a', page(1, 2))
  cache.add('a', page(3, 1))
  cache.add('a', page(3, 1))
  cache.add('a', page(9, 1))
  cache.add('b', page(2, 1))
  cache.add('a', { events: [], bytes: 0 })
  assert.deepEqual([seqs(cache, 'a'), seqs(cache, 'b'), cache.bytes], [[1, 2, 3], [], 300])
})

test('the most recently used histories stay within the byte limit', () => {
  const cache = new HistoryCache(1_000)
  for (const id of ['a', 'b', 'c']) cache.add(id, page(1, 3))
  cache.eventsOf('a')
  cache.add('d', page(1, 4))
  assert.deepEqual(
    [seqs(cache, 'a').length, seqs(cache, 'b').length, seqs(cache, 'c').length, seqs(cache, 'd').length],
    [3, 0, 3, 4],
  )
  cache.add('huge', page(1, 11))
  assert.deepEqual([seqs(cache, 'huge'), cache.bytes], [[], 0])
})

test('a returned history does not change', () => {
  const cache = new HistoryCache()
  cache.add('a', page(1, 1))
  const before = cache.eventsOf('a')
  cache.add('a', page(2, 1))
  assert.equal(before.length, 1)
})
