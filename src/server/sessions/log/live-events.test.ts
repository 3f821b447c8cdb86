import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import type { SessionEvent } from '../../../contract/events.ts'
import type { Notifications } from '../../db/notifications.ts'
import { createLog } from '../../platform/log.ts'
import { LiveEvents } from './live-events.ts'
import { deltaOf } from './remote-previews.ts'

const event = (seq: number): SessionEvent => ({
  id: `evt_${seq}`,
  type: 'agent.message',
  content: [],
  processed_at: '',
  seq,
})
const seqs = (frames: readonly { readonly seq: number }[] | undefined) => frames?.map(({ seq }) => seq)
const pageEvents = 200

/** Live events over a log whose length the test sets. */
function createRig(t: Pick<TestContext, 'after'>) {
  const hintListeners = new Map<string, (hint: string) => void>()
  const reconnects: (() => void)[] = []
  const rig = {
    last: 0,
    /** Reads of the table. */
    reads: 0,
    isRemoved: false,
    notify: (hint: string) => hintListeners.get('session_events')?.(hint),
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
    on: (channel, listener) => void hintListeners.set(channel, listener),
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

test('events of this process are delivered in order without a query', async t => {
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

test('a gap in the published events makes the reader query the table', async t => {
  const { rig, live } = createRig(t)
  const reader = live.subscribe('s')
  await reader.read(0)
  rig.last = 5
  live.publish('s', [event(5)])
  assert.deepEqual(seqs(await reader.read(2)), [3, 4, 5])
  assert.equal(rig.reads, 2)
})

test('V2: events for a reader that is far behind come from the table, not from memory', async t => {
  const { rig, live } = createRig(t)
  const reader = live.subscribe('s')
  await reader.read(0)
  rig.last = 1_000
  for (let seq = 1; seq <= 1_000; seq++) live.publish('s', [event(seq)])
  assert.equal(seqs(await reader.read(0))?.length, pageEvents)
  assert.equal(rig.reads, 2)
})

test('V2: a notification causes one query for all readers of the session', async t => {
  const { rig, live } = createRig(t)
  const readers = Array.from({ length: 100 }, () => live.subscribe('s'))
  const readAll = (after: number) => Promise.all(readers.map(reader => reader.read(after).then(seqs)))
  await readAll(0)
  assert.equal(rig.reads, 1)
  rig.last = 2
  rig.notify('s 2')
  assert.deepEqual(await readAll(0), Array(100).fill([1, 2]))
  // Late readers find the page too, and at the end of the log no query is made.
  assert.deepEqual(await readAll(1), Array(100).fill([2]))
  assert.deepEqual(await readAll(2), Array(100).fill([]))
  assert.equal(rig.reads, 2)
})

test('a reader learns that the log was removed', async t => {
  const { rig, live } = createRig(t)
  const reader = live.subscribe('s')
  rig.last = 3
  rig.isRemoved = true
  assert.equal(await reader.read(0), undefined)
})

test('a reader gets consecutive events, regardless of the order of notifications', async t => {
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
        else rig.notify(`s ${item.hint}`)
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

test('a waiting reader is woken by events of this process, by a notification, and after a reconnect', async t => {
  const { rig, live } = createRig(t)
  const reader = live.subscribe('s')
  const published = reader.wait(0)
  live.publish('s', [event(1)])
  await published
  const hinted = reader.wait(1)
  rig.notify('s 2')
  await hinted
  const reconnected = reader.wait(2)
  rig.last = 3
  rig.reconnect()
  await reconnected
})

test('a reader whose notification was lost is woken by the poll', async t => {
  const { rig, live } = createRig(t)
  const reader = live.subscribe('s')
  rig.last = 1
  await reader.wait(0)
})

test('a reader does not wait for events that already exist, and an old notification does not wake it', async t => {
  const { rig, live } = createRig(t)
  const waiting = new AbortController()
  const reader = live.subscribe('s', { signal: waiting.signal })
  rig.notify('s 5')
  await reader.wait(4)
  let isWoken = false
  const wait = reader.wait(5).then(() => {
    isWoken = true
  })
  rig.notify('s 3')
  rig.notify('other 9')
  await new Promise(resolve => setImmediate(resolve))
  assert.equal(isWoken, false)
  waiting.abort()
  await wait
})

test('readers of one session are not woken by another, and a closed reader is removed', async t => {
  const { live } = createRig(t)
  const [one, other] = [live.subscribe('one'), live.subscribe('other')]
  await Promise.all([one.read(0), other.read(0)])
  live.publish('one', [event(1)])
  assert.deepEqual([seqs(await one.read(0)), await other.read(0)], [[1], []])
  one.close()
  other.close()
  assert.equal(live.readerCount, 0)
})

test('previews are delivered only to readers that requested them', t => {
  const { live } = createRig(t)
  const seen: unknown[] = []
  live.subscribe('s')
  live.subscribe('s', { onPreview: preview => seen.push(preview) })
  const preview = deltaOf('evt_1', 'Hi')
  live.preview('s', preview)
  assert.deepEqual(seen, [preview])
})

test('the text of an answer so far is known until it is stored, requested again, or the run ends', t => {
  const { live } = createRig(t)
  const generated = () => [...live.generated('s')]
  const generate = () => {
    live.preview('s', deltaOf('evt_1', 'Hel'))
    live.preview('s', deltaOf('evt_1', 'lo'))
    assert.deepEqual(generated(), [['evt_1', 'Hello']])
  }
  const event = (id: string, type: string) => ({ id, seq: 1, type, processed_at: '' }) as unknown as SessionEvent
  generate()
  live.publish('s', [event('evt_0', 'user.message')])
  assert.equal(generated().length, 1)
  live.publish('s', [event('evt_1', 'agent.message')])
  assert.deepEqual(generated(), [])
  generate()
  live.publish('s', [event('evt_2', 'span.model_request_start')])
  assert.deepEqual(generated(), [])
  generate()
  live.endPreviews('s')
  assert.deepEqual(generated(), [])
})
