import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Notifications } from '../../db/notifications.ts'
import { createLog } from '../../platform/log.ts'
import { LiveEvents } from './live-events.ts'
import { deltaOf, type Preview, previewsOf } from './remote-previews.ts'

/** Processes of one database. Hints reach all of them, and the sender too. */
function createProcesses(t: Pick<TestContext, 'after'>) {
  const listeners: [channel: string, listener: (hint: string) => void][] = []
  const sent: string[] = []
  const notifications: Notifications = {
    on: (channel, listener) => void listeners.push([channel, listener]),
    onReconnect: () => undefined,
    send(channel, payload) {
      if (channel === 'session_preview') sent.push(payload)
      for (const [name, listener] of listeners) if (name === channel) listener(payload)
    },
    start: async () => undefined,
    hasPeers: async () => true,
    stop: async () => undefined,
  }
  const store = { lastSeqs: async () => [], boundedPage: async () => ({ last: 0, events: [] }) }
  const process = (owner: string) => {
    const live = new LiveEvents({ store, notifications, owner, log: createLog('silent') })
    t.after(() => live.stop())
    return live
  }
  return { runs: process('runs'), reads: process('reads'), other: process('other'), sent }
}

/** A reader that joins what it gets as a client does. */
function readerOf(live: LiveEvents) {
  const texts = new Map(live.generated('s'))
  const onPreview = (preview: Preview) => {
    if (preview.type === 'event_start') texts.set(preview.event.id, '')
    else texts.set(preview.event_id, (texts.get(preview.event_id) ?? '') + preview.delta.content.text)
  }
  return { texts, ...live.subscribe('s', { onPreview }) }
}

const say = (live: LiveEvents, text: string) => live.preview('s', deltaOf('evt_1', text))

test('a process that begins to read in the middle of an answer gets its text so far, and its later readers too', t => {
  const { runs, reads, other } = createProcesses(t)
  for (const preview of previewsOf('evt_1', 'One ')) runs.preview('s', preview)
  const first = readerOf(reads)
  assert.equal(first.texts.get('evt_1'), 'One ')
  say(runs, 'two ')
  const second = readerOf(reads)
  const elsewhere = readerOf(other)
  say(runs, 'three')
  for (const { texts } of [first, second, elsewhere]) assert.equal(texts.get('evt_1'), 'One two three')

  for (const reader of [first, second]) reader.close()
  say(runs, ' four')
  assert.equal(readerOf(reads).texts.get('evt_1'), 'One two three four', 'also after it had no reader')
  assert.equal(elsewhere.texts.get('evt_1'), 'One two three four')
})

test('a long piece arrives whole, in hints that fit, and none is sent without a reader in another process', t => {
  const { runs, reads, sent } = createProcesses(t)
  readerOf(runs)
  say(runs, 'Nobody else reads.')
  assert.deepEqual(sent, [])
  const reader = readerOf(reads)
  const long = '\u0001é€😀'.repeat(1_000)
  say(runs, long)
  assert.equal(reader.texts.get('evt_1'), `Nobody else reads.${long}`)
  assert.ok(sent.every(payload => Buffer.byteLength(payload) < 8_000))
})
