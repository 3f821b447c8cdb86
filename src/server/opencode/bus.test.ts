import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BusEvent, startBusReplica } from '../../../test/support/opencode/opencode-bus.ts'
import { freshDatabase } from '../../../test/support/service/database.ts'
import { eventually } from '../../../test/support/service/eventually.ts'
import { storedPrompt, storedSession } from '../../../test/support/sessions/session-rows.ts'
import type { NewEvent } from '../../contract/events.ts'
import { sseReader } from '../../contract/sse.ts'
import type { SessionChange } from './session-feed.ts'

const database = await freshDatabase()
const { pool } = database

const text = (said: string) => [{ type: 'text', text: said } as const]
const says = (said: string): NewEvent => ({ type: 'agent.message', content: text(said) })
const begins: readonly NewEvent[] = [
  { type: 'user.message', prompt_id: 'msg_a', content: text('hi'), model: 'demo' },
  { type: 'session.status_running', prompt_id: 'msg_a', run_id: 'run_a' },
]
const ends: NewEvent = { type: 'session.status_idle', stop_reason: { type: 'end_turn' }, stop_details: null }
const count = 12
/** The events of a run. */
const run = [...begins, ...Array.from({ length: count }, (_, at) => says(`part ${at}`)), ends]

interface Place {
  readonly sessionID?: string
  readonly info?: { readonly id: string; readonly sessionID?: string }
  readonly part?: { readonly text?: string }
}

const ofSession = (received: readonly BusEvent[], id: string): BusEvent[] =>
  received.filter(({ properties }) => {
    const { sessionID, info } = properties as Place
    return (sessionID ?? info?.sessionID ?? info?.id) === id
  })
const typesOf = (received: readonly BusEvent[]) => received.map(({ type }) => type)
const textsOf = (received: readonly BusEvent[]) =>
  received.flatMap(({ type, properties }) =>
    type === 'message.part.updated' ? ((properties as Place).part?.text ?? []) : [],
  )
/** The record after the run is the last event of it. */
const untilOver = (received: readonly BusEvent[], id: string) =>
  eventually(() => ofSession(received, id).some(({ type }) => type === 'session.updated'), { what: `the end of ${id}` })

/** Asserts the complete events of a session with `run`, from its creation to its end. */
function assertWhole(received: readonly BusEvent[], id: string): void {
  const mine = ofSession(received, id)
  assert.deepEqual(textsOf(mine), ['hi', ...Array.from({ length: count }, (_, at) => `part ${at}`)])
  const onceEach = ['session.created', 'session.idle', 'session.updated']
  assert.deepEqual(
    typesOf(mine).filter(type => onceEach.includes(type)),
    onceEach,
  )
}

/** Summarizes all events except the records, which are as of the time they were sent. */
const wordsOf = (received: readonly BusEvent[], id: string) =>
  ofSession(received, id).map(({ type, properties }) =>
    type.startsWith('session.') ? type : JSON.stringify([type, properties]),
  )

test('every replica delivers the events of the others, each once and in session order', async t => {
  const replicas = await Promise.all([1, 2].map(() => startBusReplica(t, { ...database, pollMs: 30 })))
  // Each starts as if it were alone, until it gets the first notification of the other.
  for (const { hasPeers } of replicas) assert.ok(await hasPeers())
  const [here, there] = replicas
  assert.ok(here && there)
  const readers = await Promise.all(replicas.map(replica => replica.watch()))
  const ids = await Promise.all([1, 2, 3].map(() => storedSession(pool)))
  const play = async (id: string, turn: number) => {
    for (const [at, event] of run.entries()) await ((at + turn) % 2 === 0 ? here : there).write(id, event)
  }
  await Promise.all(ids.map(play))
  for (const received of readers) for (const id of ids) await untilOver(received, id)
  await Promise.all(replicas.map(replica => replica.settled()))
  const [one = [], other = []] = readers
  for (const id of ids) {
    assertWhole(one, id)
    assert.deepEqual(wordsOf(other, id), wordsOf(one, id))
  }
})

test('a replica without notifications still delivers every event, once and in order', async t => {
  const writer = await startBusReplica(t, database)
  const deaf = await startBusReplica(t, { ...database, hears: () => false, pollMs: 30 })
  const received = await deaf.watch()
  const id = await storedSession(pool)
  for (const event of run.slice(0, 5)) await writer.write(id, event)
  await eventually(() => textsOf(ofSession(received, id)).length === 4, { what: 'what was written first' })
  for (const event of run.slice(5)) await writer.write(id, event)
  await untilOver(received, id)
  await deaf.settled()
  assertWhole(received, id)
})

test('the next notification makes up for lost ones', async t => {
  const writer = await startBusReplica(t, database)
  /** Delivers the notification of the creation and of every third event. */
  const hears = (hint: string) => Number(hint.split(' ')[1]) % 3 === 0
  const received = await (await startBusReplica(t, { ...database, hears })).watch()
  const id = await storedSession(pool)
  for (const event of run) await writer.write(id, event)
  assert.equal(run.length % 3, 0, 'the last hint is heard')
  await untilOver(received, id)
  assertWhole(received, id)
})

test('events written while the listening connection is down are delivered after the reconnect, once and in order', async t => {
  const { reader, received } = await cutOff(t)
  const id = await storedSession(pool)
  for (const event of run.slice(0, 6)) await reader.write(id, event)
  await eventually(() => textsOf(ofSession(received, id)).length > 0, { what: 'the reconnect' })
  for (const event of run.slice(6)) await reader.write(id, event)
  await untilOver(received, id)
  assertWhole(received, id)
})

/** A reader whose replica has just lost its listening connection and does not poll. */
async function cutOff(t: Parameters<typeof startBusReplica>[0]) {
  const reader = await startBusReplica(t, database)
  const received = await reader.watch()
  const { rowCount } = await pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name = 'switchyard-listen'`,
  )
  assert.equal(rowCount, 1)
  return { reader, received }
}

const large = 'x'.repeat(200_000)

/** Writes until a stalled reader is behind, which fills the buffers of its connection. */
async function fill(replica: Awaited<ReturnType<typeof startBusReplica>>, id: string): Promise<number> {
  const [answer] = replica.answers
  let written = 0
  const isBehind = async () => {
    if (answer?.writableNeedDrain || answer?.destroyed) return true
    await replica.write(id, ...Array.from({ length: 10 }, () => says(large)))
    written += 10
    return false
  }
  await eventually(isBehind, { what: 'a reader that is behind' })
  return written
}

test('a stalled reader does not delay others, and its missed events stay in the tables, not in memory', async t => {
  const replica = await startBusReplica(t, database)
  await replica.open()
  const received = await replica.watch()
  const id = await storedSession(pool)
  await replica.write(id, ...begins)
  const before = await fill(replica, id)
  const more = 30
  for (let at = 0; at < more; at++) await replica.write(id, says(large))
  await replica.write(id, ends)
  await untilOver(received, id)
  assert.equal(textsOf(ofSession(received, id)).length, 1 + before + more)
  const [slow] = replica.answers
  assert.equal(slow?.destroyed, false)
  // One event, plus what Node buffers before it applies back-pressure.
  assert.ok((slow?.writableLength ?? 0) < 2 * large.length, `${slow?.writableLength} bytes wait`)
})

test('S51: a reader that stalls for too long is disconnected and cleaned up, and may reconnect', async t => {
  const replica = await startBusReplica(t, { ...database, slowReaderMs: 50 })
  const slow = await replica.open()
  const id = await storedSession(pool)
  await replica.write(id, ...begins)
  await fill(replica, id)
  await eventually(() => replica.answers[0]?.destroyed, { what: 'the cut' })
  slow.resume()
  await eventually(() => slow.closed, { what: 'the end of its connection' })
  await eventually(() => replica.live.readerCount === 0, { what: 'the end of its subscriptions' })
  const received = await replica.watch()
  await replica.write(id, ...begins, says('Here again.'))
  await eventually(() => textsOf(received).includes('Here again.'), { what: 'news after it came back' })
})

/** A feed whose changes the test sends. */
function feedOf() {
  const listeners: ((change: SessionChange) => void)[] = []
  return {
    listen: async (listener: (change: SessionChange) => void) => {
      listeners.push(listener)
      return () => undefined
    },
    tell: (change: Partial<SessionChange> & Pick<SessionChange, 'sessionId'>) => {
      for (const listener of listeners) listener({ ownerId: 'ada', isNew: false, first: 1, last: 0, ...change })
    },
  }
}

test('events that are read before their notification are delivered once, also the end of a run', async t => {
  const feed = feedOf()
  const replica = await startBusReplica(t, { ...database, feed })
  const received = await replica.watch()
  const [id, next] = [await storedSession(pool), await storedSession(pool)]
  await replica.write(id, ...run)
  feed.tell({ sessionId: id, isNew: true })
  feed.tell({ sessionId: id, last: run.length - 1 })
  await untilOver(received, id)
  feed.tell({ sessionId: id, first: run.length, last: run.length })
  feed.tell({ sessionId: next, isNew: true })
  await eventually(() => ofSession(received, next).length > 0, { what: 'the next news' })
  assertWhole(received, id)
  assert.equal(replica.live.readerCount, 0)
})

test('a reader that is behind in too many sessions is disconnected; one just below the limit is not', async t => {
  const feed = feedOf()
  const replica = await startBusReplica(t, { ...database, feed })
  const received = await replica.watch()
  const behindIn = (sessions: number) => {
    for (let at = 0; at < sessions; at++) feed.tell({ sessionId: `ses_${at}` })
  }
  behindIn(10_000)
  behindIn(10_000)
  feed.tell({ sessionId: await storedSession(pool), isNew: true })
  await eventually(() => typesOf(received).includes('session.created'), { what: 'the next news' })
  behindIn(10_001)
  await eventually(() => replica.answers[0]?.destroyed, { what: 'the cut' })
})

test('V2: a session is translated once for all readers, and one that is far behind gets the same events', async t => {
  const here = await startBusReplica(t, database)
  const [first, second] = [await here.watch(), await here.watch()]
  const late = await here.open()
  const id = await storedSession(pool)
  const prompt_id = await storedPrompt(pool, id, { position: 1 })
  const big = 'x'.repeat(200_000)
  await here.write(id, { type: 'user.message', prompt_id, content: text('hi'), model: 'demo' })
  await here.write(id, { type: 'session.status_running', prompt_id, run_id: 'run_a' })
  for (let at = 0; at < 80; at++) {
    await here.write(id, says(`${at} ${big}`))
    // Neither of them falls behind on a busy machine, as the third one does on purpose.
    for (const received of [first, second])
      await eventually(() => textsOf(received).at(-1)?.startsWith(`${at} `) === true, { what: `message ${at}` })
  }
  await here.write(id, ends)
  await untilOver(first, id)
  await untilOver(second, id)
  const received: BusEvent[] = []
  const read = sseReader()
  late.setEncoding('utf8').on('data', (chunk: string) => {
    for (const { data } of read(chunk)) received.push(JSON.parse(data) as BusEvent)
  })
  await untilOver(received, id)
  const shortWords = (all: readonly BusEvent[]) => wordsOf(all, id).map(word => word.replaceAll(big, 'big'))
  assert.deepEqual(shortWords(second), shortWords(first))
  assert.deepEqual(shortWords(received), shortWords(first))
  // Event ids are assigned by the translation.
  const idsOf = (all: readonly BusEvent[]) => all.filter(({ type }) => type === 'message.part.updated').map(idIn)
  assert.deepEqual(idsOf(second), idsOf(first))
})

const idIn = (received: BusEvent): unknown => (received as BusEvent & { readonly id: unknown }).id
