import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { looseLog } from '../../test/support/sessions/loose-event.ts'
import type { SessionEvent } from '../contract/events.ts'
import { sseFrame } from '../contract/sse.ts'
import { createClient } from './client.ts'
import { type ReadEvent, type ReadEventsOptions, type ReaderState, readEvents } from './event-reader.ts'
import { ApiError } from './failures.ts'
import { EventMissing } from './reconnect.ts'

const quick = { quickMs: 1, retryMs: 2, maxMs: 4, silenceMs: 5_000 }

/** A log of `length` events with multi-byte texts; the last one is the deletion. */
function logOf(length: number): SessionEvent[] {
  return looseLog(
    Array.from({ length }, (_, at) => ({
      type: at + 1 === length ? 'session.deleted' : 'agent.message',
      content: [{ type: 'text', text: `naïve 😀 №${at}` }],
    })),
  )
}

const frameOf = (event: SessionEvent) =>
  sseFrame({ id: String(event.seq), event: event.type, data: JSON.stringify(event) })

type Handler = (request: IncomingMessage, response: ServerResponse, connection: number) => void

/** A service with `handler`, which gets the connection number from 1, and a reader of session `s`. */
async function serviceOf(t: TestContext, handler: Handler) {
  let connections = 0
  const server = createServer((request, response) => handler(request, response, ++connections))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = createClient({ baseUrl, key: 'sk-test' })
  const read = (options: Partial<ReadEventsOptions> = {}) =>
    readEvents({ client, sessionId: 's', pace: quick, ...options })
  return { read, connections: () => connections }
}

const lastEventId = (request: IncomingMessage) => Number(request.headers['last-event-id'] ?? 0)
const openStream = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' })

function endWith(response: ServerResponse, body: string | Buffer): void {
  response.end(body)
}

/** Response to the reader's only other request: the last event of the log. */
function sendList(response: ServerResponse, log: readonly SessionEvent[]): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ data: log.slice(-1), next_page: null }))
}

async function collect(reading: AsyncIterable<ReadEvent>): Promise<ReadEvent['event'][]> {
  const events: ReadEvent['event'][] = []
  for await (const { event } of reading) events.push(event)
  return events
}

test('a stream that is cut 100 times at any byte, also inside a character, yields exactly the log', async t => {
  const log = logOf(150)
  let cuts = 0
  const service = await serviceOf(t, (request, response) => {
    if (!request.url?.includes('/stream')) return sendList(response, log)
    assert.equal(request.headers.authorization, 'Bearer sk-test')
    openStream(response)
    const bytes = Buffer.from(`retry: 2\n\n: hello\n\n${log.slice(lastEventId(request)).map(frameOf).join('')}`)
    if (cuts === 100) return endWith(response, bytes)
    cuts += 1
    // At most one whole event per connection, so that the log lasts longer than the cuts.
    const end = 2 + Math.floor(Math.random() * Math.min(bytes.length - 2, 350))
    const middle = 1 + Math.floor(Math.random() * (end - 1))
    response.write(bytes.subarray(0, middle))
    const finish = cuts % 2 === 0 ? () => response.destroy() : () => response.end()
    response.write(bytes.subarray(middle, end), finish)
  })
  const events = await collect(service.read())
  assert.deepEqual(events, log)
  assert.equal(cuts, 100)
})

test('events repeated after a reconnect are dropped', async t => {
  const log = logOf(6)
  const service = await serviceOf(t, (_request, response, connection) => {
    openStream(response).end(
      log
        .slice(0, connection * 2)
        .map(frameOf)
        .join(''),
    )
  })
  assert.deepEqual(await collect(service.read()), log)
})

test('a gap is never yielded: the reader reloads after the last good event', async t => {
  const log = logOf(5)
  const asked: number[] = []
  const service = await serviceOf(t, (request, response, connection) => {
    asked.push(lastEventId(request))
    const shown = connection === 1 ? log.filter(event => event.seq !== 3) : log.slice(lastEventId(request))
    openStream(response).end(shown.map(frameOf).join(''))
  })
  assert.deepEqual(await collect(service.read()), log)
  assert.deepEqual(asked, [0, 2])
})

test('a permanent gap is an error, not an endless loop', async t => {
  const log = logOf(5).filter(event => event.seq !== 3)
  const service = await serviceOf(t, (_request, response) => {
    openStream(response).end(log.map(frameOf).join(''))
  })
  await assert.rejects(collect(service.read()), (error: unknown) => error instanceof EventMissing && error.seq === 3)
})

test('a silent connection counts as lost, and comments are not silence', async t => {
  const log = logOf(2)
  let firstClosed = false
  const service = await serviceOf(t, (request, response, connection) => {
    openStream(response).flushHeaders()
    if (connection === 1) {
      const heartbeat = setInterval(() => response.write(':\n\n'), 20)
      setTimeout(() => clearInterval(heartbeat), 300)
      response.on('close', () => {
        clearInterval(heartbeat)
        firstClosed = true
      })
    } else {
      response.end(log.slice(lastEventId(request)).map(frameOf).join(''))
    }
  })
  const reasons: string[] = []
  const startedAtMs = performance.now()
  const onState = (state: ReaderState) => state.name === 'waiting' && reasons.push(state.reason)
  assert.deepEqual(await collect(service.read({ pace: { ...quick, silenceMs: 100 }, onState })), log)
  assert.deepEqual(reasons, ['no data for 0.1 s'])
  assert.ok(performance.now() - startedAtMs >= 300, 'the heartbeats kept the first connection')
  assert.ok(firstClosed)
})

test('a consumer slower than the silence limit keeps its connection', async t => {
  const log = logOf(3)
  const service = await serviceOf(t, (_request, response) => {
    openStream(response).end(log.map(frameOf).join(''))
  })
  const seen: number[] = []
  for await (const { event } of service.read({ pace: { ...quick, silenceMs: 50 } })) {
    const until = performance.now() + 60
    while (performance.now() < until) await new Promise(setImmediate)
    seen.push(Number(event['seq']))
  }
  assert.deepEqual(seen, [1, 2, 3])
  assert.equal(service.connections(), 1)
})

for (const status of [400, 401, 403, 404]) {
  test(`status ${status} is final`, async t => {
    const service = await serviceOf(t, (_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end('{"error":"no"}')
    })
    await assert.rejects(
      collect(service.read()),
      (error: unknown) => error instanceof ApiError && error.status === status,
    )
    assert.equal(service.connections(), 1)
  })
}

test('429 and 5xx are retried, not before Retry-After', async t => {
  const log = logOf(1)
  const refusals = [429, 500, 503]
  const service = await serviceOf(t, (_request, response, connection) => {
    const status = refusals[connection - 1]
    if (status === undefined) openStream(response).end(log.map(frameOf).join(''))
    else response.writeHead(status, { 'retry-after': status === 503 ? '1' : '0' }).end('{}')
  })
  const waits: number[] = []
  const onState = (state: ReaderState) => state.name === 'waiting' && waits.push(state.retryInMs)
  assert.deepEqual(await collect(service.read({ onState })), log)
  assert.equal(waits.length, 3)
  assert.equal(waits[2], 1000)
})

test('a session that was deleted before ends the reading even without new events', async t => {
  const service = await serviceOf(t, (request, response) => {
    if (request.url?.includes('/stream')) endWith(openStream(response), ':\n\n')
    else sendList(response, logOf(4))
  })
  assert.deepEqual(await collect(service.read({ after: 4 })), [])
})

test('deltas are yielded as ephemeral, and only on request', async t => {
  const log = logOf(2)
  const delta = { type: 'event_delta', event_id: 'evt_1', delta: { type: 'content_delta' } }
  const urls: (string | undefined)[] = []
  const service = await serviceOf(t, (request, response) => {
    urls.push(request.url)
    const deltaFrame = sseFrame({ event: delta.type, data: JSON.stringify(delta) })
    openStream(response).end(deltaFrame + log.map(frameOf).join(''))
  })
  assert.deepEqual(await collect(service.read()), log)
  const kinds: [boolean, string][] = []
  for await (const { ephemeral, event } of service.read({ eventDeltas: true })) kinds.push([ephemeral, event.type])
  assert.deepEqual(kinds, [
    [true, 'event_delta'],
    [false, 'agent.message'],
    [false, 'session.deleted'],
  ])
  assert.deepEqual(urls, ['/v1/sessions/s/events/stream', '/v1/sessions/s/events/stream?event_deltas=true'])
})

test('an abort ends the reading without an error and closes the connection', async t => {
  const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>()
  const service = await serviceOf(t, (_request, response) => {
    openStream(response).write(logOf(9).slice(0, 1).map(frameOf).join(''))
    response.on('close', onClosed)
  })
  const stop = new AbortController()
  const seen: string[] = []
  for await (const { event } of service.read({ signal: stop.signal })) {
    seen.push(event.type)
    stop.abort()
  }
  await closed
  assert.deepEqual(seen, ['agent.message'])
})

test('a consumer that stops iterating closes the connection', async t => {
  const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>()
  const service = await serviceOf(t, (_request, response) => {
    openStream(response).write(logOf(9).slice(0, 1).map(frameOf).join(''))
    response.on('close', onClosed)
  })
  for await (const _ of service.read()) break
  await closed
})
