import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'pg'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { looseEvent } from '../../../../test/support/sessions/loose-event.ts'
import { storedSession } from '../../../../test/support/sessions/session-rows.ts'
import { sessionStore } from '../session-store.ts'
import { eventStore, withId } from './event-store.ts'

const database = await freshDatabase()
const store = eventStore(database.pool)

const message = (text: string) => withId({ type: 'agent.message', content: [{ type: 'text', text }] })
const seqs = (events: readonly { seq: number }[] | undefined) => events?.map(({ seq }) => seq)

test('events are numbered consecutively over all appends, and are read as they were returned', async () => {
  const sessionId = await storedSession(database.pool)
  const first = await store.append(sessionId, [message('a'), message('b')])
  const second = await store.append(sessionId, [message('c')])
  assert.deepEqual([seqs(first), seqs(second)], [[1, 2], [3]])
  const page = await store.page(sessionId, 0, 10)
  assert.equal(JSON.stringify(page), JSON.stringify([...(first ?? []), ...(second ?? [])]))
  assert.equal(await store.lastSeq(sessionId), 3)
})

test('concurrent writers leave no gap and use no number twice', async () => {
  const sessionId = await storedSession(database.pool)
  const appends = Array.from({ length: 50 }, (_, at) =>
    store.append(
      sessionId,
      Array.from({ length: (at % 3) + 1 }, () => message(String(at))),
    ),
  )
  const stored = (await Promise.all(appends)).flatMap(events => seqs(events) ?? [])
  assert.deepEqual(
    stored.toSorted((a, b) => a - b),
    Array.from({ length: stored.length }, (_, at) => at + 1),
  )
})

test('an owner with a stale fence cannot append', async () => {
  const sessionId = await storedSession(database.pool)
  await database.pool.query('update sessions set fence = 5 where id = $1', [sessionId])
  assert.equal(await store.appendFenced({ sessionId, fence: 4 }, [message('late')]), undefined)
  assert.deepEqual(seqs(await store.appendFenced({ sessionId, fence: 5 }, [message('in time')])), [1])
  assert.equal(await store.lastSeq(sessionId), 1)
})

test('a deleted session rejects appends, even of its owner', async () => {
  const sessionId = await storedSession(database.pool)
  const client = await database.pool.connect()
  await sessionStore(database.pool).markDeleted(client, sessionId)
  client.release()
  assert.equal(await store.append(sessionId, [message('a')]), undefined)
  assert.equal(await store.appendFenced({ sessionId, fence: 1 }, [message('a')]), undefined)
})

test('the numbers of a rolled back append are reused', async () => {
  const sessionId = await storedSession(database.pool)
  const client = await database.pool.connect()
  await client.query('begin')
  await store.append(sessionId, [message('undone')], client)
  await client.query('rollback')
  client.release()
  assert.deepEqual(seqs(await store.append(sessionId, [message('a')])), [1])
})

test('pages cover the log to its end, and a page after the end is empty', async () => {
  const sessionId = await storedSession(database.pool)
  await store.append(
    sessionId,
    Array.from({ length: 5 }, (_, at) => message(String(at))),
  )
  assert.deepEqual(seqs(await store.page(sessionId, 0, 2)), [1, 2])
  assert.deepEqual(seqs(await store.page(sessionId, 2, 2)), [3, 4])
  assert.deepEqual(seqs(await store.page(sessionId, 4, 2)), [5])
  assert.deepEqual(await store.page(sessionId, 5, 2), [])
})

test('a list supports both orders and filters by type', async () => {
  const sessionId = await storedSession(database.pool)
  const usage = withId({ type: 'session.usage' })
  await store.append(sessionId, [message('a'), usage, message('b')])
  const list = async (order: 'asc' | 'desc', after: number, types?: string[]) =>
    (await store.list({ sessionId, after, limit: 10, order, types })).data
  assert.deepEqual(seqs(await list('asc', 0)), [1, 2, 3])
  assert.deepEqual(seqs(await list('desc', Number.MAX_SAFE_INTEGER)), [3, 2, 1])
  assert.deepEqual(seqs(await list('desc', 3)), [2, 1])
  assert.deepEqual(seqs(await list('asc', 0, ['agent.message'])), [1, 3])
})

test('all text is read as it was stored: NUL, lone surrogates, quotes, emoji', async () => {
  const sessionId = await storedSession(database.pool)
  const texts = ['\u0000', '\ud800', '"\\', '😀', '\u2028', "'; drop table sessions; --"]
  await store.append(sessionId, texts.map(message))
  const read = await store.page(sessionId, 0, 10)
  assert.deepEqual(
    read.map(({ content }) => content),
    texts.map(text => [{ type: 'text', text }]),
  )
})

test('an append sends one notification with its numbers and the owner of the session', async () => {
  const client = new Client({ connectionString: database.url })
  await client.connect()
  const notifications: (string | undefined)[] = []
  client.on('notification', ({ payload }) => notifications.push(payload))
  await client.query('listen session_events')
  const sessionId = await storedSession(database.pool)
  await store.append(sessionId, [message('a'), message('b'), message('c')])
  const later = await storedSession(database.pool)
  await store.append(later, [message('d')])
  // Notifications keep their order: those of the first session have arrived before this one.
  await eventually(() => notifications.some(payload => payload?.startsWith(later)))
  await client.end()
  const own = notifications.filter(payload => payload?.startsWith(sessionId))
  assert.deepEqual(own, [`${sessionId} 0 1 ada`, `${sessionId} 3 1 ada`])
})

test('V2: a page for readers has up to 256 KB of events, or one larger event, and the length of the log', async () => {
  const sessionId = await storedSession(database.pool)
  const sized = (bytes: number) => withId(looseEvent({ type: 'agent.message', text: 'x'.repeat(bytes) }))
  const sizes = [100_000, 100_000, 100_000, 1_000_000, 10]
  for (const bytes of sizes) await store.append(sessionId, [sized(bytes)])
  const pageAt = async (after: number) => {
    const page = await store.boundedPage(sessionId, after)
    return [seqs(page?.events ?? []), page?.last]
  }
  assert.deepEqual(await pageAt(0), [[1, 2], 5])
  assert.deepEqual(await pageAt(2), [[3], 5])
  assert.deepEqual(await pageAt(3), [[4], 5])
  assert.deepEqual(await pageAt(4), [[5], 5])
  assert.deepEqual(await pageAt(5), [[], 5])
  // Rows of an older release have no stored size.
  await database.pool.query('update session_events set bytes = null where session_id = $1', [sessionId])
  assert.deepEqual(await pageAt(0), [[1, 2], 5])
  assert.equal(await store.boundedPage('nope', 0), undefined)
})

test('R2: the size of a log is counted in UTF-8 bytes', async () => {
  const sessionId = await storedSession(database.pool)
  const text = 'ü€😀'
  await store.append(sessionId, [withId(looseEvent({ type: 'agent.message', text }))])
  const { rows } = await database.pool.query('select log_bytes from sessions where id = $1', [sessionId])
  const sizes = await database.pool.query('select bytes from session_events where session_id = $1', [sessionId])
  const bytes = Buffer.byteLength(JSON.stringify({ text }))
  assert.deepEqual([rows[0], sizes.rows[0]], [{ log_bytes: bytes }, { bytes }])
})

test('V2: a list ends at 4 MB and reports that more events follow', async () => {
  const sessionId = await storedSession(database.pool)
  const big = message('x'.repeat(1_500_000))
  for (let at = 0; at < 3; at++)
    await store.append(
      sessionId,
      [big].map(event => ({ ...event, id: `${event.id}_${at}` })),
    )
  const list = async (after: number, limit = 10) => {
    const { data, hasMore } = await store.list({ sessionId, after, limit, order: 'asc', types: undefined })
    return [seqs(data), hasMore]
  }
  assert.deepEqual(await list(0), [[1, 2], true])
  assert.deepEqual(await list(2), [[3], false])
  assert.deepEqual(await list(0, 1), [[1], true])
})

test('the event of a prompt is found regardless of its text', async () => {
  const sessionId = await storedSession(database.pool)
  const asked = (prompt_id: string) =>
    withId({ type: 'user.message', prompt_id, content: [{ type: 'text', text: '\u0000 "' }] })
  await store.append(sessionId, [asked('msg_a'), message('a'), asked('msg_b')])
  assert.equal(await store.seqOfPrompt(sessionId, 'msg_b'), 3)
  assert.equal(await store.seqOfPrompt(sessionId, 'msg_c'), undefined)
  assert.equal(await store.seqOfNewestMessages(sessionId, 1), 3)
  assert.equal(await store.seqOfNewestMessages(sessionId, 5), 1)
})
