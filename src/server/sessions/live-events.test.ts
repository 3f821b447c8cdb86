import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import type { SessionEvent } from '../../contract/events.ts'
import type { Notifications } from '../db/notifications.ts'
import { createLog } from '../platform/log.ts'
import type { EventStore } from './event-store.ts'
import { LiveEvents } from './live-events.ts'

const event = (seq: number): SessionEvent => ({ id: `evt_${seq}`, type: 'agent.message', processed_at: '', seq })
const seqs = (events: readonly SessionEvent[] | undefined) => events?.map(({ seq }) => seq)
const never = new AbortController().signal

/** Live events over a log whose length the test sets. */
function createRig(t: Pick<TestContext, 'after'>) {
  const hearers = new Map<string, (hint: string) => void>()
  const reconnects: (() => void)[] = []
  const rig = {
    last: 0,
    hear: (hint: string) => hearers.get('session_events')?.(hint),
    reconnect: () => reconnects[0]?.(),
  }
  const store = { lastSeqs: async (ids: readonly string[]) => ids.map(id => ({ id, last: rig.last })) } as EventStore
  const notifications: Notifications = {
    on: (channel, listener) => void hearers.set(channel, listener),
    onReconnect: listener => void reconnects.push(listener),
    send: () => undefined,
    start: async () => undefined,
    stop: async () => undefined,
  }
  const live = new LiveEvents({ store, notifications, owner: 'me', log: createLog('silent') })
  t.after(() => live.stop())
  return { rig, live }
}

test('events of this process are handed on in order, without a look at the table', t => {
  const { live } = createRig(t)
  const reader = live.subscribe('s')
  live.publish('s', [event(1), event(2)])
  live.publish('s', [event(3)])
  assert.deepEqual(seqs(reader.take(0)), [1, 2, 3])
  live.publish('s', [event(4)])
  assert.deepEqual(seqs(reader.take(3)), [4])
})

test('events that do not follow on what the reader has send it to the table', t => {
  const { live } = createRig(t)
  const reader = live.subscribe('s')
  live.publish('s', [event(5)])
  assert.equal(reader.take(2), undefined)
  live.publish('s', [event(6)])
  live.publish('s', [event(8)])
  assert.equal(reader.take(5), undefined)
})

test('a reader that is far behind is sent to the table instead of kept in memory', t => {
  const { live } = createRig(t)
  const reader = live.subscribe('s')
  for (let seq = 1; seq <= 1_000; seq++) live.publish('s', [event(seq)])
  assert.equal(reader.take(0), undefined)
})

test('whatever order news comes in, what a reader takes follows on what it has, without a gap', t => {
  const news = fc.array(fc.oneof(fc.nat({ max: 12 }), fc.record({ hint: fc.nat({ max: 12 }) })), { maxLength: 30 })
  fc.assert(
    fc.property(news, fc.nat({ max: 12 }), (all, after) => {
      const { rig, live } = createRig(t)
      const reader = live.subscribe('s')
      for (const item of all) {
        if (typeof item === 'number') live.publish('s', [event(item)])
        else rig.hear(`s ${item.hint}`)
      }
      const taken = seqs(reader.take(after)) ?? []
      assert.deepEqual(
        taken,
        taken.map((_, at) => after + at + 1),
      )
    }),
  )
})

test('a reader that waits is woken by events of this process, by a hint, and after a reconnect', async t => {
  const { rig, live } = createRig(t)
  const reader = live.subscribe('s')
  const published = reader.wait(0, never)
  live.publish('s', [event(1)])
  await published
  const hinted = reader.wait(1, never)
  rig.hear('s 2')
  await hinted
  const reconnected = reader.wait(2, never)
  rig.last = 3
  rig.reconnect()
  await reconnected
})

test('a reader whose hint was lost is woken by a look at the table within 2 s', async t => {
  const { rig, live } = createRig(t)
  const reader = live.subscribe('s')
  rig.last = 1
  const startedAt = performance.now()
  await reader.wait(0, AbortSignal.timeout(10_000))
  assert.ok(performance.now() - startedAt < 2_500)
})

test('news that came before the wait is not waited for, and an old hint wakes nobody', async t => {
  const { rig, live } = createRig(t)
  const reader = live.subscribe('s')
  rig.hear('s 5')
  await reader.wait(4, never)
  const waiting = new AbortController()
  let isWoken = false
  const wait = reader.wait(5, waiting.signal).then(() => {
    isWoken = true
  })
  rig.hear('s 3')
  rig.hear('other 9')
  await new Promise(resolve => setImmediate(resolve))
  assert.equal(isWoken, false)
  waiting.abort()
  await wait
})

test('readers of one session hear nothing of another, and a closed reader is forgotten', t => {
  const { live } = createRig(t)
  const [one, other] = [live.subscribe('one'), live.subscribe('other')]
  live.publish('one', [event(1)])
  assert.deepEqual([seqs(one.take(0)), other.take(0)], [[1], undefined])
  one.close()
  other.close()
  assert.equal(live.readerCount, 0)
})

test('previews reach those who asked for them', t => {
  const { live } = createRig(t)
  const seen: unknown[] = []
  live.subscribe('s')
  live.subscribe('s', preview => seen.push(preview))
  const preview = { type: 'event_delta', event_id: 'evt_1' } as const
  live.preview('s', preview)
  assert.deepEqual(seen, [preview])
})
