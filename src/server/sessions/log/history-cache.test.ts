import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionEvent } from '../../../contract/events.ts'
import { HistoryCache } from './history-cache.ts'

const eventsFrom = (first: number, count: number): SessionEvent[] =>
  Array.from({ length: count }, (_, at) => ({
    id: `evt_${first + at}`,
    type: 'agent.message',
    processed_at: '2026-01-01T00:00:00.000Z',
    seq: first + at,
  }))
const page = (first: number, count: number) => ({ events: eventsFrom(first, count), bytes: count * 100 })
const seqs = (cache: HistoryCache, id: string) => cache.eventsOf(id).map(({ seq }) => seq)
/** As the engine adds what it reads: behind event `after`. */
const add = (cache: HistoryCache, id: string, after: number | undefined, added: ReturnType<typeof page>) =>
  cache.add(id, added, { after, isCompactable: true })

test('a history grows at its end, and takes no events that do not follow', () => {
  const cache = new HistoryCache()
  add(cache, 'a', undefined, page(1, 2))
  add(cache, 'a', 2, page(3, 1))
  add(cache, 'a', 2, page(3, 1))
  add(cache, 'a', 8, page(9, 1))
  add(cache, 'a', undefined, page(1, 1))
  add(cache, 'b', 1, page(2, 1))
  add(cache, 'a', 3, { events: [], bytes: 0 })
  assert.deepEqual([seqs(cache, 'a'), seqs(cache, 'b'), cache.bytes], [[1, 2, 3], [], 300])
})

test('those that were used last stay, within the bytes', () => {
  const cache = new HistoryCache(1_000)
  for (const id of ['a', 'b', 'c']) add(cache, id, undefined, page(1, 3))
  cache.eventsOf('a')
  add(cache, 'd', undefined, page(1, 4))
  assert.deepEqual(
    [seqs(cache, 'a').length, seqs(cache, 'b').length, seqs(cache, 'c').length, seqs(cache, 'd').length],
    [3, 0, 3, 4],
  )
  add(cache, 'huge', undefined, page(1, 11))
  assert.deepEqual([seqs(cache, 'huge'), cache.bytes], [[], 0])
})

test('what was handed out stays as it was', () => {
  const cache = new HistoryCache()
  add(cache, 'a', undefined, page(1, 1))
  const before = cache.eventsOf('a')
  add(cache, 'a', 1, page(2, 1))
  assert.equal(before.length, 1)
})

const compaction = (seq: number, kept_from_seq: number, waiting_seqs: number[]) => ({
  events: [
    { id: `evt_${seq}`, type: 'agent.thread_context_compacted', processed_at: '', seq, kept_from_seq, waiting_seqs },
  ],
  bytes: 100,
})

test('a compaction leaves what it has kept, and frees the rest', () => {
  const cache = new HistoryCache()
  add(cache, 'a', undefined, page(1, 50))
  const before = cache.bytes
  add(cache, 'a', 50, compaction(51, 49, [7]))
  assert.deepEqual(seqs(cache, 'a'), [7, 49, 50, 51])
  assert.ok(cache.bytes < before / 4)
  add(cache, 'a', 51, page(52, 1))
  assert.deepEqual(seqs(cache, 'a'), [7, 49, 50, 51, 52])
})

test('a session whose runtime keeps its own context has its whole log', () => {
  const cache = new HistoryCache()
  cache.add('a', page(1, 5), { after: undefined, isCompactable: false })
  cache.add('a', compaction(6, 5, []), { after: 5, isCompactable: false })
  assert.deepEqual(seqs(cache, 'a'), [1, 2, 3, 4, 5, 6])
})
