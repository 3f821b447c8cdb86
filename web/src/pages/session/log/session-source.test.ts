import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClient, type SessionEvent } from '../../../../../src/client/index.ts'
import { sseFrame } from '../../../../../src/contract/sse.ts'
import { looseLog } from '../../../../../test/support/sessions/loose-event.ts'
import { SessionSource } from './session-source.ts'

const logOf = (length: number): SessionEvent[] =>
  looseLog(Array.from({ length }, (_, at) => ({ type: 'agent.message', content: [{ type: 'text', text: `${at}` }] })))

const frameOf = (event: SessionEvent) =>
  sseFrame({ id: String(event.seq), event: event.type, data: JSON.stringify(event) })

/** A service whose log can grow, and whose stream can be cut. */
function serviceOf(log: SessionEvent[]) {
  const streams = new Set<ReadableStreamDefaultController<Uint8Array>>()
  const lists: string[] = []
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const url = new URL(String(input))
    if (!url.pathname.endsWith('/stream')) {
      lists.push(url.search)
      const before = Number(url.searchParams.get('page') ?? Number.POSITIVE_INFINITY)
      const limit = Number(url.searchParams.get('limit'))
      const data = log.filter(({ seq }) => seq < before).toReversed()
      return Response.json({ data: data.slice(0, limit), next_page: null })
    }
    const after = Number(new Headers(init?.headers).get('last-event-id') ?? 0)
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        streams.add(controller)
        for (const event of log.filter(({ seq }) => seq > after)) controller.enqueue(bytesOf(frameOf(event)))
        init?.signal?.addEventListener('abort', () => streams.delete(controller))
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
  return {
    client: createClient({ baseUrl: 'http://service.test', fetch }),
    lists,
    push(event: SessionEvent) {
      log.push(event)
      for (const stream of streams) stream.enqueue(bytesOf(frameOf(event)))
    },
    cut() {
      for (const stream of streams) stream.error(new TypeError('cut'))
      streams.clear()
    },
  }
}

const bytesOf = (text: string) => new TextEncoder().encode(text)

/** Resolves once the state is as wanted. */
function until(source: SessionSource, isWanted: () => boolean): Promise<void> {
  return new Promise(resolve => {
    const check = () => {
      if (!isWanted()) return
      unsubscribe()
      resolve()
    }
    const unsubscribe = source.subscribe(check)
    check()
  })
}

const seqsOf = ({ state: { view } }: SessionSource): number[] => view.log.toArray().map(({ seq }) => seq)
const oneTo = (last: number): number[] => Array.from({ length: last }, (_, at) => at + 1)

test('the last page is loaded first, older events on demand, each once', async t => {
  const service = serviceOf(logOf(900))
  const source = new SessionSource({ client: service.client, sessionId: 's', schedule: queueMicrotask })
  t.after(() => source.stop())
  source.start()
  await until(source, () => source.state.connection.name === 'live')
  assert.deepEqual(seqsOf(source), oneTo(900).slice(700))
  await Promise.all([source.loadOlder(), source.loadOlder()])
  assert.deepEqual(seqsOf(source), oneTo(900).slice(200))
  await source.loadAll()
  assert.deepEqual(seqsOf(source), oneTo(900))
  assert.equal(service.lists.length, 3)
})

test('an event of an older page is found by its id, an unknown one is not', async t => {
  const log = logOf(500)
  const service = serviceOf(log)
  const source = new SessionSource({ client: service.client, sessionId: 's', schedule: queueMicrotask })
  t.after(() => source.stop())
  source.start()
  await until(source, () => source.state.connection.name === 'live')
  assert.equal(await source.loadBackTo(log[3]?.id ?? ''), true)
  assert.equal(await source.loadBackTo('evt_unknown'), false)
  assert.deepEqual(seqsOf(source), oneTo(500))
})

test('after a cut the stream resumes, and the state says what was caught up', async t => {
  const all = logOf(12)
  const service = serviceOf(all.slice(0, 9))
  const source = new SessionSource({ client: service.client, sessionId: 's', schedule: queueMicrotask })
  t.after(() => source.stop())
  source.start()
  await until(source, () => source.state.connection.name === 'live')
  service.cut()
  await until(source, () => source.state.connection.name === 'lost')
  for (const event of all.slice(9)) service.push(event)
  await until(source, () => source.state.caughtUp !== undefined)
  assert.deepEqual(seqsOf(source), oneTo(12))
  const { events, missed, gaps } = source.state.caughtUp ?? assert.fail()
  assert.deepEqual({ events, missed, gaps }, { events: 3, missed: 0, gaps: [] })
})

test('events of one frame of the screen are one change of the state', async t => {
  const all = logOf(60)
  const service = serviceOf(all.slice(0, 10))
  const scheduled: (() => void)[] = []
  const source = new SessionSource({ client: service.client, sessionId: 's', schedule: run => scheduled.push(run) })
  t.after(() => source.stop())
  source.start()
  await until(source, () => source.state.connection.name === 'live')
  let changes = 0
  source.subscribe(() => {
    changes += 1
  })
  for (const event of all.slice(10)) service.push(event)
  while (scheduled.length === 0) await new Promise(setImmediate)
  assert.equal(changes, 0)
  scheduled.shift()?.()
  assert.equal(changes, 1)
  assert.ok(source.state.view.log.count > 10)
})
