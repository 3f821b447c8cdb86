import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import type { SessionEvent } from '../../../contract/events.ts'
import type { Notifications } from '../../db/notifications.ts'
import { createLog } from '../../platform/log.ts'
import { LiveEvents } from './live-events.ts'

const event = (seq: number): SessionEvent => ({ id: `evt_${seq}`, type: 'agent.message', processed_at: '', seq })
const seqs = (frames: readonly { readonly seq: number }[] | undefined) => frames?.map(({ seq }) => seq)
const pageEvents = 200

/** Live events over a log whose length the test sets. */
function createRig(t: Pick<TestContext, 'after'>) {
  const hearers = new Map<string, (hint: string) => void>()
  const reconnects: (() => void)[] = []
  const rig = {
    last: 0,
    /** Reads of the table. */
    reads: 0,
    isRemoved: false,
    hear: (hint: string) => hearers.get('session_events')?.(hint),
    reconnect: () => reconnects[0]?.(),
  }
  const store = {
    lastSeqs: async (ids: readonly string[]) => ids.map(id => ({ id, last: rig.last })),
    async boundedPage(_id: string, after: number) {
      rig.reads++
      const count = rig.isRemoved ? 0 : Math.max(0, Math.min(pageEvents, rig.last - after))
      return { last: rig.last, events: Array.from({ length: count }, (_, at) => event(after + at + 1)) }
    },
  }
  const notifications: Notifications = {
    on: (channel, listener) => void hearers.set(channel, listener),
    onReconnect: listener => void reconnects.push(listener),
    send: () => undefined,
    start: async () => undefined,
    hasPeers: async () => false,
    stop: async () => undefined,
  }
  const live = new LiveEvents({ store, notifications, owner: 'me', log: createLog('silent') })
  t.after(() => live.stop())
  return { rig, live }
}

test('events of this process are handed on in order, without a look at the table', async t => {
  const { rig, live } = createRig(t)
  const reader = live.subscribe('s')
  assert.deepEqual(seqs(await reader.read(0)), [])
  live.publish('s', [event(1), event(2)])
  live.publish('s', [event(3)])
  assert.deepEqual(seqs(await reader.read(0)), [1, 2])
  assert.deepEqual(seqs(await reader.read(1)), [2])
  assert.deepEqual(seqs(await reader.read(2)), [3])
  assert.equal(rig.reads, 1)
})

test('events that do not follow on what the reader has send it to the table', async t => {
  const { rig, live } = createRig(t)
  const reader = live.subscribe('s')
  await reader.read(0)
  rig.last = 5
  live.publish('s', [event(5)])
  assert.deepEqual(seqs(await reader.read(2)), [3, 4, 5])
  assert.equal(rig.reads, 2)
})

test('V2: a reader that is far behind is sent to the table instead of kept in memory', async t => {
  const { rig, live } = createRig(t)
  const reader = live.subscribe('s')
  await reader.read(0)
  rig.last = 1_000
  for (let seq = 1; seq <= 1_000; seq++) live.publish('s', [event(seq)])
  assert.equal(seqs(await reader.read(0))?.length, pageEvents)
  assert.equal(rig.reads, 2)
})

test('V2: a hint costs one read of the table for all readers of the session', async t => {
  const { rig, live } = createRig(t)
  const readers = Array.from({ length: 100 }, () => live.subscribe('s'))
  const readAll = (after: number) => Promise.all(readers.map(reader => reader.read(after).then(seqs)))
  await readAll(0)
  assert.equal(rig.reads, 1)
  rig.last = 2
  rig.hear('s 2')
  assert.deepEqual(await readAll(0), Array(100).fill([1, 2]))
  // Those who come late find it too, and at the end of the log nobody asks.
  assert.deepEqual(await readAll(1), Array(100).fill([2]))
  assert.deepEqual(await readAll(2), Array(100).fill([]))
  assert.equal(rig.reads, 2)
})

test('a reader is told when the log was removed', async t => {
  const { rig, live } = createRig(t)
  const reader = live.subscribe('s')
  rig.last = 3
  rig.isRemoved = true
  assert.equal(await reader.read(0), undefined)
})

test('whatever order news comes in, what a reader gets follows on what it has, without a gap', async t => {
  const news = fc.array(fc.oneof(fc.nat({ max: 12 }), fc.record({ hint: fc.nat({ max: 12 }) })), { maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(news, fc.nat({ max: 12 }), async (all, after) => {
      const { rig, live } = createRig(t)
      const reader = live.subscribe('s')
      await reader.read(0)
      for (const item of all) {
        const seq = typeof item === 'number' ? item : item.hint
        rig.last = Math.max(rig.last, seq)
        if (typeof item === 'number') live.publish('s', [event(item)])
        else rig.hear(`s ${item.hint}`)
      }
      const got: number[] = []
      for (let at = after; at < rig.last; at = got.at(-1) ?? at) got.push(...(seqs(await reader.read(at)) ?? []))
      assert.deepEqual(
        got,
        Array.from({ length: Math.max(0, rig.last - after) }, (_, at) => after + at + 1),
      )
    }),
  )
})

test('a reader that waits is woken by events of this process, by a hint, and after a reconnect', async t => {
  const { rig, live } = createRig(t)
  const reader = live.subscribe('s')
  const published = reader.wait(0)
  live.publish('s', [event(1)])
  await published
  const hinted = reader.wait(1)
  rig.hear('s 2')
  await hinted
  const reconnected = reader.wait(2)
  rig.last = 3
  rig.reconnect()
  await reconnected
})

test('a reader whose hint was lost is woken by a look at the table', async t => {
  const { rig, live } = createRig(t)
  const reader = live.subscribe('s')
  rig.last = 1
  await reader.wait(0)
})

test('news that came before the wait is not waited for, and an old hint wakes nobody', async t => {
  const { rig, live } = createRig(t)
  const waiting = new AbortController()
  const reader = live.subscribe('s', { signal: waiting.signal })
  rig.hear('s 5')
  await reader.wait(4)
  let isWoken = false
  const wait = reader.wait(5).then(() => {
    isWoken = true
  })
  rig.hear('s 3')
  rig.hear('other 9')
  await new Promise(resolve => setImmediate(resolve))
  assert.equal(isWoken, false)
  waiting.abort()
  await wait
})

test('readers of one session hear nothing of another, and a closed reader is forgotten', async t => {
  const { live } = createRig(t)
  const [one, other] = [live.subscribe('one'), live.subscribe('other')]
  await Promise.all([one.read(0), other.read(0)])
  live.publish('one', [event(1)])
  assert.deepEqual([seqs(await one.read(0)), await other.read(0)], [[1], []])
  one.close()
  other.close()
  assert.equal(live.readerCount, 0)
})

test('previews reach those who asked for them', t => {
  const { live } = createRig(t)
  const seen: unknown[] = []
  live.subscribe('s')
  live.subscribe('s', { onPreview: preview => seen.push(preview) })
  const preview = { type: 'event_delta', event_id: 'evt_1' } as const
  live.preview('s', preview)
  assert.deepEqual(seen, [preview])
})
