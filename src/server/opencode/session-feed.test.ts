import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from '../../../test/support/database.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { storedSession } from '../../../test/support/session-rows.ts'
import { createLog } from '../platform/log.ts'
import { eventStore, withId } from '../sessions/log/event-store.ts'
import { feedStore } from './feed-store.ts'
import { SessionFeed } from './session-feed.ts'

const { pool } = await freshDatabase()
const events = eventStore(pool)
const rows = feedStore(pool)

/** A feed whose hints, reconnects and answers from the tables are the test's to deliver. */
async function startFeed(t: TestContext) {
  const waiting: (() => void)[] = []
  let hear: (hint: string) => void = () => undefined
  let reconnect: () => void = () => undefined
  let isHeld = false
  let fails = false
  const feed = new SessionFeed({
    store: {
      ...rows,
      async changed(withinMs) {
        if (fails) throw new Error('the database is away')
        const found = await rows.changed(withinMs)
        if (isHeld) await new Promise<void>(resolve => waiting.push(resolve))
        return found
      },
    },
    notifications: {
      on: (_channel, listener) => {
        hear = listener
      },
      onReconnect: listener => {
        reconnect = listener
      },
    },
    log: createLog('silent'),
    pollMs: 2 ** 31 - 1,
  })
  t.after(() => feed.stop())
  const told: string[] = []
  const leave = await feed.listen(({ sessionId, isNew, first, last }) =>
    told.push(`${sessionId} ${isNew ? 'new ' : ''}${first}-${last}`),
  )
  return {
    feed,
    told,
    leave,
    hear: (hint: string) => hear(hint),
    reconnect: () => reconnect(),
    /** From now on the tables are read, and what was found is handed over with `deliver`. */
    hold: () => {
      isHeld = true
    },
    fail: (does: boolean) => {
      fails = does
    },
    /** The tables have been read; what comes now is not in what was found. */
    wasRead: () => eventually(() => waiting.length > 0, { what: 'a look at the tables' }),
    async deliver() {
      const next = await eventually(() => waiting.shift(), { what: 'a look at the tables' })
      next()
    },
  }
}

/** A session with a log, which nobody has touched for an hour. */
async function oldSession(length: number): Promise<string> {
  const id = await storedSession(pool)
  await append(id, length)
  await pool.query(
    `update sessions set created_at = created_at - interval '1 hour', updated_at = updated_at - interval '1 hour'
     where id = $1`,
    [id],
  )
  await pool.query(`update session_events set created_at = created_at - interval '1 hour' where session_id = $1`, [id])
  return id
}

/** Adds events, one at a time; nobody is told. */
async function append(id: string, count = 1): Promise<void> {
  const named = () => [withId({ type: 'agent.message', content: [] })]
  for (let at = 0; at < count; at++) await events.append(id, named())
}

const hintOf = (id: string, first: number, last: number) => `${id} ${last} ${first} ada`

test('an addition that is heard of again, or that the tables tell too, is told once', async t => {
  const { told, hear, reconnect, hold, deliver } = await startFeed(t)
  const id = await oldSession(3)
  await append(id)
  hear(hintOf(id, 4, 4))
  hear(hintOf(id, 4, 4))
  hold()
  reconnect()
  await deliver()
  await append(id)
  hear(hintOf(id, 5, 5))
  await eventually(() => told.length === 2)
  assert.deepEqual(told, [`${id} 4-4`, `${id} 5-5`])
})

test('what was lost before a reconnect is told before what is heard behind it', async t => {
  const { told, hear, reconnect, hold, wasRead, deliver } = await startFeed(t)
  const id = await oldSession(3)
  hold()
  await append(id)
  reconnect()
  await wasRead()
  await append(id)
  hear(hintOf(id, 5, 5))
  assert.deepEqual(told, [])
  await deliver()
  await eventually(() => told.length > 1)
  assert.deepEqual(told, [`${id} 4-4`, `${id} 5-5`])
})

test('a session that was made while the connection was away is told as new, once', async t => {
  const { told, hear, reconnect, hold, wasRead, deliver } = await startFeed(t)
  hold()
  const id = await storedSession(pool)
  await append(id)
  reconnect()
  await wasRead()
  await append(id)
  for (const last of [0, 1, 2]) hear(hintOf(id, Math.max(last, 1), last))
  await deliver()
  await eventually(() => told.length > 2)
  assert.deepEqual(told, [`${id} new 1-0`, `${id} 1-1`, `${id} 2-2`])
})

test('a look at the tables from before a second reconnect does not count for it', async t => {
  const { told, hear, reconnect, hold, wasRead, deliver } = await startFeed(t)
  const id = await oldSession(3)
  hold()
  reconnect()
  await wasRead()
  await append(id, 2)
  reconnect()
  hear(hintOf(id, 5, 5))
  await deliver()
  await deliver()
  await eventually(() => told.length > 0)
  assert.deepEqual(told, [`${id} 4-5`])
})

test('what comes while the database does not answer after a reconnect is told as soon as it does', async t => {
  const { told, hear, reconnect, fail } = await startFeed(t)
  const id = await oldSession(3)
  fail(true)
  await append(id, 2)
  reconnect()
  hear(hintOf(id, 5, 5))
  fail(false)
  reconnect()
  await eventually(() => told.length > 0)
  assert.deepEqual(told, [`${id} 4-5`])
})

test('what happened while nobody listened is no news, also when its hints were lost', async t => {
  const { feed, told, leave, hear, reconnect } = await startFeed(t)
  const id = await oldSession(3)
  await append(id)
  hear(hintOf(id, 4, 4))
  leave()
  reconnect()
  await append(id, 2)
  await pool.query(`update sessions set updated_at = updated_at - interval '1 hour' where id = $1`, [id])
  const later: string[] = []
  await feed.listen(({ first, last }) => later.push(`${first}-${last}`))
  hear(hintOf(id, 7, 7))
  assert.deepEqual([told, later], [[`${id} 4-4`], ['7-7']])
})
