import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { looseLog } from '../../../../test/support/sessions/loose-event.ts'
import type { SessionEvent } from '../../../contract/events.ts'
import { sseReader } from '../../../contract/sse.ts'
import { WriteTurns } from '../../http/write-turns.ts'
import { createLog } from '../../platform/log.ts'
import { LiveEvents } from './live-events.ts'
import { writeEventStream } from './stream.ts'

const event = (seq: number, type = 'agent.message', text = ''): SessionEvent => {
  const [made] = looseLog([{ id: `evt_${seq}`, type, seq, text }])
  return made ?? assert.fail('no event')
}

interface Log {
  readonly events: SessionEvent[]
  /** Number of pages read from the table. */
  pages: number
  fail?: boolean
}

interface Stage {
  readonly log: Log
  readonly shutdown: AbortController
  /** Number of streams that have not ended. */
  open: number
  /** Milliseconds after which a reader that does not read is disconnected. */
  slowReaderMs: number
  /** Publishes the newest event, as for a write of this process. */
  wake(): void
  /** Notifies of the length of the log, like another process. */
  hint(): void
  preview(text: string): void
  read(options?: { after?: number; isOver?: boolean; withPreviews?: boolean }): Promise<IncomingMessage>
}

const noNotifications = (hintListeners: Map<string, (hint: string) => void>) => ({
  on: (channel: string, listener: (hint: string) => void) => void hintListeners.set(channel, listener),
  onReconnect: () => undefined,
  send: () => undefined,
  start: async () => undefined,
  hasPeers: async () => false,
  stop: async () => undefined,
})
/** Page limits of the fake table. */
const pageEvents = 200
const pageBytes = 256 * 1024

/** Like the table: the events that fit, or one that is larger. */
function boundedPage(events: readonly SessionEvent[], after: number): SessionEvent[] {
  const candidates = events.filter(({ seq }) => seq > after).slice(0, pageEvents)
  let bytes = 0
  return candidates.filter((event, at) => {
    bytes += JSON.stringify(event).length
    return bytes <= pageBytes || at === 0
  })
}

/** A server with one session, whose log the test writes. */
async function createStage(t: TestContext, events: SessionEvent[] = []): Promise<Stage> {
  const log: Log = { events, pages: 0 }
  const lastOf = () => log.events.at(-1)?.seq ?? 0
  const store = {
    async boundedPage(_id: string, after: number) {
      log.pages++
      if (log.fail) throw new Error('the database is unreachable')
      return { events: boundedPage(log.events, after), last: lastOf() }
    },
    lastSeqs: async () => [{ id: 's', last: lastOf() }],
  }
  const hintListeners = new Map<string, (hint: string) => void>()
  const live = new LiveEvents({
    store,
    notifications: noNotifications(hintListeners),
    owner: 'me',
    log: createLog('silent'),
  })
  const turns = new WriteTurns()
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://x').searchParams
    stage.open++
    void writeEventStream(response, 'req_1', {
      live,
      sessionId: 's',
      after: Number(query.get('after')),
      isOver: query.get('isOver') === 'true',
      withPreviews: query.get('withPreviews') === 'true',
      shutdown: stage.shutdown.signal,
      turns,
      slowReaderMs: stage.slowReaderMs,
    }).finally(() => stage.open--)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  t.after(async () => {
    server.closeAllConnections()
    server.close()
    await Promise.all([once(server, 'close'), live.stop()])
  })
  const stage: Stage = {
    log,
    shutdown: new AbortController(),
    open: 0,
    slowReaderMs: 30_000,
    hint: () => hintListeners.get('session_events')?.(`s ${lastOf()}`),
    wake() {
      live.publish('s', log.events.slice(-1))
    },
    preview(text) {
      const delta = { type: 'content_delta', content: { type: 'text', text } } as const
      live.preview('s', { type: 'event_delta', event_id: 'evt_1', delta })
    },
    async read(options = {}) {
      const query = new URLSearchParams(
        Object.entries(options).map(([name, value]): [string, string] => [name, String(value)]),
      )
      const request = get({ port, path: `/?${query}`, agent: false })
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      t.after(() => response.destroy())
      return response
    },
  }
  return stage
}

/** Collects the numbers of the received events. */
function collect(response: IncomingMessage) {
  const read = sseReader()
  const seen: number[] = []
  const types: string[] = []
  response.setEncoding('utf8')
  response.on('data', (text: string) => {
    for (const { id, event: type } of read(text)) {
      if (id !== undefined) seen.push(Number(id))
      types.push(type ?? '')
    }
  })
  return { seen, types }
}

test('a reader gets the log from its position on, then new events', async t => {
  const stage = await createStage(t, [event(1), event(2), event(3)])
  const { seen } = collect(await stage.read({ after: 1 }))
  await eventually(() => seen.length === 2)
  stage.log.events.push(event(4))
  await eventually(() => {
    stage.wake()
    return seen.length === 3
  })
  assert.deepEqual(seen, [2, 3, 4])
})

test('a log longer than a page is delivered completely', async t => {
  const stage = await createStage(
    t,
    Array.from({ length: 1_001 }, (_, at) => event(at + 1)),
  )
  const { seen } = collect(await stage.read())
  await eventually(() => seen.length === 1_001)
  assert.deepEqual(
    seen,
    stage.log.events.map(({ seq }) => seq),
  )
})

test('headers are sent at once, and forbid caching and buffering', async t => {
  const { headers } = await (await createStage(t)).read()
  assert.equal(headers['content-type'], 'text/event-stream; charset=utf-8')
  assert.equal(headers['cache-control'], 'no-cache, no-transform')
  assert.equal(headers['x-accel-buffering'], 'no')
  assert.equal(headers['request-id'], 'req_1')
})

test('the stream ends after session.deleted', async t => {
  const stage = await createStage(t, [event(1), event(2, 'session.deleted'), event(3)])
  const response = await stage.read()
  const { seen } = collect(response)
  await once(response, 'end')
  assert.deepEqual(seen, [1, 2])
})

test('the stream of a deleted session ends for a reader at its end; that of an active session stays open', async t => {
  const stage = await createStage(t, [event(1, 'session.deleted')])
  const over = await stage.read({ after: 1, isOver: true })
  collect(over)
  await once(over, 'end')
  const living = await stage.read({ after: 5 })
  const { seen } = collect(living)
  stage.log.events.push(...[2, 3, 4, 5, 6].map(seq => event(seq)))
  await eventually(() => {
    stage.wake()
    return seen.length === 1
  })
  assert.deepEqual(seen, [6])
})

test('a reader stays connected while the database is unreachable, and misses no event', async t => {
  const stage = await createStage(t, [event(1)])
  stage.log.fail = true
  const { seen } = collect(await stage.read())
  await eventually(() => stage.log.pages > 1)
  stage.log.fail = false
  await eventually(() => seen.length === 1)
})

test('V2, S51: stalled readers share one page, regardless of their number and the length of the log, and are released when they disconnect', async t => {
  const big = 'x'.repeat(100_000)
  const stage = await createStage(
    t,
    Array.from({ length: 2_000 }, (_, at) => event(at + 1, 'agent.message', big)),
  )
  const stalled = await Promise.all(Array.from({ length: 20 }, () => stage.read()))
  for (const response of stalled) response.pause()
  const healthy = collect(await stage.read({ after: 1_900 }))
  await eventually(() => healthy.seen.length === 100)
  // Two events fit into a page: 50 pages for the healthy reader, and one shared read for the sockets of all others.
  const readers = stalled.length
  assert.ok(stage.log.pages < 50 + 5 * readers, `${stage.log.pages} pages were read`)
  assert.equal(stage.open, readers + 1)
  for (const response of stalled) response.destroy()
  await eventually(() => stage.open === 1)
})

test('V2: many readers of one session cause one query', async t => {
  const stage = await createStage(t, [event(1)])
  const readers = await Promise.all(Array.from({ length: 50 }, async () => collect(await stage.read())))
  await eventually(() => readers.every(({ seen }) => seen.length === 1))
  const before = stage.log.pages
  assert.ok(before <= 2, `${before} pages were read`)
  stage.log.events.push(event(2))
  stage.hint()
  await eventually(() => readers.every(({ seen }) => seen.length === 2))
  assert.equal(stage.log.pages, before + 1)
})

test('V2, S51: a stalled reader is disconnected after a while, and a healthy one is not', async t => {
  const big = 'x'.repeat(100_000)
  const stage = await createStage(
    t,
    Array.from({ length: 1_000 }, (_, at) => event(at + 1, 'agent.message', big)),
  )
  stage.slowReaderMs = 200
  const stalled = await stage.read()
  stalled.pause()
  const healthy = collect(await stage.read({ after: 990 }))
  await eventually(() => stage.open === 1)
  stage.log.events.push(event(1_001))
  await eventually(() => {
    stage.wake()
    return healthy.seen.at(-1) === 1_001
  })
})

test('every stream ends cleanly when the server stops, also that of a stalled reader', async t => {
  const big = 'x'.repeat(100_000)
  const stage = await createStage(
    t,
    Array.from({ length: 500 }, (_, at) => event(at + 1, 'agent.message', big)),
  )
  const stalled = await stage.read()
  stalled.pause()
  const idle = await stage.read({ after: 500 })
  collect(idle)
  const ended = once(idle, 'end')
  stage.shutdown.abort()
  await ended
  await eventually(() => stage.open === 0)
})

test('previews have no id and are sent only to readers that requested them', async t => {
  const stage = await createStage(t, [event(1)])
  const [plain, eager] = [await stage.read(), await stage.read({ withPreviews: true })].map(collect)
  await eventually(() => plain?.seen.length === 1 && eager?.seen.length === 1)
  stage.preview('Hel')
  await eventually(() => eager?.types.includes('event_delta'))
  assert.deepEqual([plain?.types, eager?.seen], [['agent.message'], [1]])
})
