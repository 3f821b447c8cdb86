import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import type { SessionEvent } from '../../contract/events.ts'
import { sseReader } from '../../contract/sse.ts'
import type { EventStore } from './event-store.ts'
import type { LiveEvents, Subscription } from './live-events.ts'
import { writeEventStream } from './stream.ts'

const event = (seq: number, type = 'agent.message', text = ''): SessionEvent => ({
  id: `evt_${seq}`,
  type,
  processed_at: '2026-01-01T00:00:00.000Z',
  seq,
  text,
})

interface Log {
  readonly events: SessionEvent[]
  /** Pages that were read from the table. */
  pages: number
  fail?: boolean
}

interface Stage {
  readonly log: Log
  readonly shutdown: AbortController
  /** Number of streams whose writing has not ended. */
  open: number
  /** Wakes every reader. */
  wake(): void
  preview(text: string): void
  read(options?: { after?: number; isOver?: boolean; withPreviews?: boolean }): Promise<IncomingMessage>
}

/** A server with one session, whose log the test writes. */
async function createStage(t: TestContext, events: SessionEvent[] = []): Promise<Stage> {
  const wakes = new Set<() => void>()
  const previews = new Set<(preview: never) => void>()
  const log: Log = { events, pages: 0 }
  const store = {
    async page(_id: string, after: number, limit: number) {
      log.pages++
      if (log.fail) throw new Error('the database is away')
      return log.events.filter(({ seq }) => seq > after).slice(0, limit)
    },
  } as EventStore
  const subscribe = (_id: string, onPreview?: (preview: never) => void): Subscription => {
    if (onPreview) previews.add(onPreview)
    const news = (signal: AbortSignal) =>
      new Promise<void>(resolve => {
        wakes.add(resolve)
        signal.addEventListener('abort', () => resolve(), { once: true })
      })
    return { take: () => undefined, wait: (_after, signal) => news(signal), change: news, close: () => undefined }
  }
  const live = { subscribe } as unknown as LiveEvents
  const server = createServer((request, response) => {
    const query = new URL(request.url ?? '', 'http://x').searchParams
    stage.open++
    void writeEventStream(response, 'req_1', {
      store,
      live,
      sessionId: 's',
      after: Number(query.get('after')),
      isOver: query.get('isOver') === 'true',
      withPreviews: query.get('withPreviews') === 'true',
      shutdown: stage.shutdown.signal,
    }).finally(() => stage.open--)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  t.after(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const stage: Stage = {
    log,
    shutdown: new AbortController(),
    open: 0,
    wake() {
      for (const wake of wakes) wake()
    },
    preview(text) {
      for (const preview of previews) preview({ type: 'event_delta', text } as never)
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

/** Numbers of the events that have come so far. */
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

test('a reader gets the log from its position, then what is added', async t => {
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

test('a log longer than a page comes whole', async t => {
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

test('headers go out at once, and forbid caches and buffers', async t => {
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

test('the stream of a deleted session ends for a reader that has it all, and one of a living session does not', async t => {
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

test('a reader stays while the database is away, and misses nothing', async t => {
  const stage = await createStage(t, [event(1)])
  stage.log.fail = true
  const { seen } = collect(await stage.read())
  await eventually(() => stage.log.pages > 1)
  stage.log.fail = false
  await eventually(() => seen.length === 1)
})

test('a reader that does not read holds one page in memory, however long the log, and is let go when it leaves', async t => {
  const big = 'x'.repeat(100_000)
  const stage = await createStage(
    t,
    Array.from({ length: 2_000 }, (_, at) => event(at + 1, 'agent.message', big)),
  )
  const stalled = await stage.read()
  stalled.pause()
  const healthy = collect(await stage.read({ after: 1_900 }))
  await eventually(() => healthy.seen.length === 100)
  assert.ok(stage.log.pages <= 4, `${stage.log.pages} pages were read`)
  assert.equal(stage.open, 2)
  stalled.destroy()
  await eventually(() => stage.open === 1)
})

test('every stream ends cleanly when the server stops, also that of a reader that does not read', async t => {
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

test('previews come without an id, and only to those who asked', async t => {
  const stage = await createStage(t, [event(1)])
  const [plain, eager] = [await stage.read(), await stage.read({ withPreviews: true })].map(collect)
  await eventually(() => plain?.seen.length === 1 && eager?.seen.length === 1)
  stage.preview('Hel')
  await eventually(() => eager?.types.includes('event_delta'))
  assert.deepEqual([plain?.types, eager?.seen], [['agent.message'], [1]])
})
