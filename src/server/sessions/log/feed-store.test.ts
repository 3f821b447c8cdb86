import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import { storedSession } from '../../../../test/support/sessions/session-rows.ts'
import { eventStore, withId } from './event-store.ts'
import { cursorOf, type FeedFilter, feedStore, firstPlace, type Place, placeIn } from './feed-store.ts'

const { pool } = await freshDatabase()
const feed = feedStore(pool)
const events = eventStore(pool)

const everything: FeedFilter = { owner: undefined, agentId: undefined, metadata: undefined }
const said = (text: string) => withId({ type: 'agent.message', content: [{ type: 'text', text }] })
const textOf = (event: object) => (event as { content: [{ text: string }] }).content[0].text

async function end(): Promise<Place> {
  const place = await feed.end(firstPlace)
  assert.ok(place)
  return place
}

/**
 * Reads page by page until no event is held back, and returns the end. Transactions of other tests hold events back
 * too.
 */
async function readAll(after: Place, filter = everything) {
  const pages: string[][] = []
  for (let place = after; ; ) {
    const { events: some, reached, hasMore, hasUnsettled } = await feed.page(place, filter)
    if (some.length > 0) pages.push(some.map(({ event }) => textOf(event)))
    place = reached
    if (hasUnsettled) await sleep(10)
    else if (!hasMore) return { pages, texts: pages.flat(), reached }
  }
}

test('a transaction that commits late is not missed, and no event is delivered twice', async () => {
  const [one, two] = [await storedSession(pool), await storedSession(pool)]
  const start = await end()
  const slow = await pool.connect()
  await slow.query('begin')
  await events.append(one, [said('slow')], slow)
  await events.append(two, [said('fast')])
  const before = await feed.page(start, everything)
  assert.deepEqual([before.events, before.hasUnsettled], [[], true])
  await slow.query('commit')
  slow.release()
  const after = await readAll(before.reached)
  assert.deepEqual(after.texts, ['slow', 'fast'])
  assert.deepEqual((await readAll(after.reached)).texts, [])
})

test('readers that resume at any event see all concurrent writes, each once and in session order', async () => {
  const sessions = await Promise.all(Array.from({ length: 4 }, () => storedSession(pool)))
  const start = await end()
  const writing = sessions.map(async (id, of) => {
    for (let at = 0; at < 25; at++) await events.append(id, [said(`${of} ${at} a`), said(`${of} ${at} b`)])
  })
  const written = Promise.all(writing)
  const seen: string[] = []
  let place = start
  for (let isDone = false; ; ) {
    const { events: some, hasUnsettled, hasMore } = await feed.page(place, everything)
    // Each iteration resumes after a random event of the page.
    const kept = some.slice(0, 1 + Math.floor(Math.random() * some.length))
    seen.push(...kept.map(({ event }) => textOf(event)))
    place = placeIn(cursorOf(kept.at(-1)?.place ?? place)) ?? firstPlace
    if (isDone && some.length === 0 && !hasUnsettled && !hasMore) break
    isDone ||= await Promise.race([
      written.then(() => true),
      new Promise<false>(resolve => setImmediate(resolve, false)),
    ])
  }
  assert.equal(new Set(seen).size, seen.length, 'nothing twice')
  for (const of of sessions.keys()) {
    const expected = Array.from({ length: 25 }, (_, at) => [`${of} ${at} a`, `${of} ${at} b`]).flat()
    assert.deepEqual(
      seen.filter(text => text.startsWith(`${of} `)),
      expected,
    )
  }
})

test('a page has only events of matching owner and metadata, and skips the others', async () => {
  const [mine, other] = [await storedSession(pool), await storedSession(pool)]
  await pool.query(`update sessions set owner_id = 'me', agent_id = 'agent_1' where id = $1`, [mine])
  await pool.query(`insert into session_metadata values ($1, '{"team": "blue", "n": "1"}')`, [mine])
  const start = await end()
  for (let at = 0; at < 6; at++)
    await events.append(
      other,
      Array.from({ length: 100 }, () => said('other')),
    )
  await events.append(mine, [said('mine')])
  await events.append(other, [said('other')])
  for (const filter of [{ owner: 'me' }, { agentId: 'agent_1' }, { metadata: { team: 'blue' } }]) {
    const { texts, reached } = await readAll(start, { ...everything, ...filter })
    assert.deepEqual(texts, ['mine'])
    assert.deepEqual((await readAll(reached)).texts, [])
  }
  assert.deepEqual((await readAll(start, { ...everything, metadata: { team: 'red' } })).texts, [])
})

test('a page has about 256 KB, and at least one event', async () => {
  const id = await storedSession(pool)
  const start = await end()
  await events.append(id, [said('x'.repeat(400_000)), said('b'), said('y'.repeat(200_000)), said('c')])
  const { pages } = await readAll(start)
  assert.deepEqual(
    pages.map(({ length }) => length),
    [1, 3],
  )
})

test('after a restore with reset transaction ids, old events come first and old cursors are detected', async () => {
  const id = await storedSession(pool)
  const start = await end()
  await events.append(id, [said('restored')])
  await pool.query(`update session_events set xid = '9000000000000000000' where session_id = $1`, [id])
  assert.equal(await feed.end({ ...start, xid: '9000000000000000000' }), undefined)
  const { rows } = await pool.query<{ xid: string }>(
    'select distinct xid::text from session_events where session_id = $1',
    [id],
  )
  assert.deepEqual(rows, [{ xid: '0' }])
  await events.append(id, [said('new')])
  assert.deepEqual((await readAll(start)).texts, ['new'])
})

test('an invalid cursor yields no position', () => {
  for (const text of [
    '',
    '1',
    '1.ses_1',
    'a.ses_1.1',
    '1.ses-1.1',
    '-1.ses_1.1',
    '1.ses_1.1 ',
    `${'9'.repeat(20)}.s.1`,
  ])
    assert.equal(placeIn(text), undefined, text)
  assert.deepEqual(placeIn('7.ses_1.3'), { xid: '7', sessionId: 'ses_1', seq: 3 })
  assert.deepEqual(placeIn(cursorOf(firstPlace)), firstPlace)
})
