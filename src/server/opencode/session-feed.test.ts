import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from '../../../test/support/service/database.ts'
import { eventually } from '../../../test/support/service/eventually.ts'
import { storedSession } from '../../../test/support/sessions/session-rows.ts'
import { createLog } from '../platform/log.ts'
import { eventStore, withId } from '../sessions/log/event-store.ts'
import { feedStore } from './feed-store.ts'
import { SessionFeed } from './session-feed.ts'

const { pool } = await freshDatabase()
const events = eventStore(pool)
const rows = feedStore(pool)

/** A feed whose notifications, reconnects and query results the test delivers. */
async function startFeed(t: TestContext) {
  const waiting: (() => void)[] = []
  let notify: (hint: string) => void = () => undefined
  let reconnect: () => void = () => undefined
  let isHeld = false
  let fails = false
  const feed = new SessionFeed({
    store: {
      ...rows,
      async changed(withinMs) {
        if (fails) throw new Error('the database is unreachable')
        const found = await rows.changed(withinMs)
        if (isHeld) await new Promise<void>(resolve => waiting.push(resolve))
        return found
      },
    },
    notifications: {
      on: (_channel, listener) => {
        notify = listener
      },
      onReconnect: listener => {
        reconnect = listener
      },
    },
    log: createLog('silent'),
    pollMs: 2 ** 31 - 1,
  })
  t.after(() => feed.stop())
  const received: string[] = []
  const leave = await feed.listen(({ sessionId, isNew, first, last }) =>
    received.push(`${sessionId} ${isNew ? 'new ' : ''}${first}-${last}`),
  )
  return {
    feed,
    received,
    leave,
    notify: (hint: string) => notify(hint),
    reconnect: () => reconnect(),
    /** From now on queries run at once, but their results are delivered with `deliver`. */
    hold: () => {
      isHeld = true
    },
    fail: (does: boolean) => {
      fails = does
    },
    /** Waits until a query has run; later changes are not in its result. */
    wasRead: () => eventually(() => waiting.length > 0, { what: 'a look at the tables' }),
    async deliver() {
      const next = await eventually(() => waiting.shift(), { what: 'a query of the tables' })
      next()
    },
  }
}

/** Returns a session with a log that has not changed for an hour. */
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

/** Adds events one at a time, without notifications. */
async function append(id: string, count = 1): Promise<void> {
  const named = () => [withId({ type: 'agent.message', content: [] })]
  for (let at = 0; at < count; at++) await events.append(id, named())
}

const hintOf = (id: string, first: number, last: number) => `${id} ${last} ${first} ada`

test('a change with a repeated notification, or that a query returns too, is delivered once', async t => {
  const { received, notify, reconnect, hold, deliver } = await startFeed(t)
  const id = await oldSession(3)
  await append(id)
  notify(hintOf(id, 4, 4))
  notify(hintOf(id, 4, 4))
  hold()
  reconnect()
  await deliver()
  await append(id)
  notify(hintOf(id, 5, 5))
  await eventually(() => received.length === 2)
  assert.deepEqual(received, [`${id} 4-4`, `${id} 5-5`])
})

test('changes missed before a reconnect are delivered before later notifications', async t => {
  const { received, notify, reconnect, hold, wasRead, deliver } = await startFeed(t)
  const id = await oldSession(3)
  hold()
  await append(id)
  reconnect()
  await wasRead()
  await append(id)
  notify(hintOf(id, 5, 5))
  assert.deepEqual(received, [])
  await deliver()
  await eventually(() => received.length > 1)
  assert.deepEqual(received, [`${id} 4-4`, `${id} 5-5`])
})

test('a session created while the connection was down is delivered as new, once', async t => {
  const { received, notify, reconnect, hold, wasRead, deliver } = await startFeed(t)
  hold()
  const id = await storedSession(pool)
  await append(id)
  reconnect()
  await wasRead()
  await append(id)
  for (const last of [0, 1, 2]) notify(hintOf(id, Math.max(last, 1), last))
  await deliver()
  await eventually(() => received.length > 2)
  assert.deepEqual(received, [`${id} new 1-0`, `${id} 1-1`, `${id} 2-2`])
})

test('a query from before a second reconnect does not complete it', async t => {
  const { received, notify, reconnect, hold, wasRead, deliver } = await startFeed(t)
  const id = await oldSession(3)
  hold()
  reconnect()
  await wasRead()
  await append(id, 2)
  reconnect()
  notify(hintOf(id, 5, 5))
  await deliver()
  await deliver()
  await eventually(() => received.length > 0)
  assert.deepEqual(received, [`${id} 4-5`])
})

test('notifications that arrive while the database does not answer after a reconnect are delivered once it does', async t => {
  const { received, notify, reconnect, fail } = await startFeed(t)
  const id = await oldSession(3)
  fail(true)
  await append(id, 2)
  reconnect()
  notify(hintOf(id, 5, 5))
  fail(false)
  reconnect()
  await eventually(() => received.length > 0)
  assert.deepEqual(received, [`${id} 4-5`])
})

test('changes without a listener are not delivered later, also when their notifications were lost', async t => {
  const { feed, received, leave, notify, reconnect } = await startFeed(t)
  const id = await oldSession(3)
  await append(id)
  notify(hintOf(id, 4, 4))
  leave()
  reconnect()
  await append(id, 2)
  await pool.query(`update sessions set updated_at = updated_at - interval '1 hour' where id = $1`, [id])
  const later: string[] = []
  await feed.listen(({ first, last }) => later.push(`${first}-${last}`))
  notify(hintOf(id, 7, 7))
  assert.deepEqual([received, later], [[`${id} 4-4`], ['7-7']])
})
