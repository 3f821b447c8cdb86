import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import { looseEvent } from '../../../../test/support/sessions/loose-event.ts'
import { storedSession } from '../../../../test/support/sessions/session-rows.ts'
import type { SessionEvent } from '../../../contract/events.ts'
import { DatabaseUnavailable } from '../../platform/errors.ts'
import { createEventLog, FenceLost, type Writer } from './event-log.ts'
import { eventStore, type Queryable } from './event-store.ts'
import type { LiveEvents } from './live-events.ts'

const database = await freshDatabase()

function createLogOver(changes: Partial<ReturnType<typeof eventStore>> = {}) {
  const published: SessionEvent[] = []
  const live = {
    publish: (_id: string, events: readonly SessionEvent[]) => void published.push(...events),
  } as LiveEvents
  const store = { ...eventStore(database.pool), ...changes }
  return { published, log: createEventLog({ pool: database.pool, store, live, folds: { note: () => undefined } }) }
}

async function leasedSession(fence = 0): Promise<Writer & { readonly lose: () => void }> {
  const lost = new AbortController()
  const sessionId = await storedSession(database.pool)
  const mayWrite = () => !lost.signal.aborted
  const leased = {
    sessionId,
    fence,
    wasAbandoned: false,
    lost: lost.signal,
    mayWrite,
    lastSeq: 0,
    onStop: () => undefined,
  }
  return { ...leased, lose: () => lost.abort() }
}

const idle = looseEvent({ type: 'session.status_idle' })
const rowsOf = async ({ sessionId }: Writer) => eventStore(database.pool).page(sessionId, 0, 10)
const cut = new DatabaseUnavailable('the connection was lost', undefined)

test('events are published after they are stored', async () => {
  const { published, log } = createLogOver()
  const leased = await leasedSession()
  await log.append(leased, [idle])
  assert.deepEqual(published, await rowsOf(leased))
})

test('writes that accompany events are committed with them or not at all', async () => {
  const { published, log } = createLogOver()
  const leased = await leasedSession()
  const rename = async (on: Queryable) => {
    await on.query(`update sessions set title = 'renamed' where id = $1`, [leased.sessionId])
  }
  const broken = log.append(leased, [idle], async client => {
    await rename(client)
    throw new Error('no')
  })
  await assert.rejects(broken, /^Error: no$/)
  assert.deepEqual([await rowsOf(leased), published], [[], []])
  await log.append(leased, [idle], rename)
  assert.equal((await rowsOf(leased)).length, 1)
})

test('an append whose response was lost is not repeated', async () => {
  const real = eventStore(database.pool)
  let isFirst = true
  const { published, log } = createLogOver({
    async appendFenced(...args) {
      const stored = await real.appendFenced(...args)
      if (!isFirst) return stored
      isFirst = false
      throw cut
    },
  })
  const leased = await leasedSession()
  await log.append(leased, [idle])
  assert.equal((await rowsOf(leased)).length, 1)
  assert.deepEqual(published, await rowsOf(leased))
})

test('an append is not repeated while its first attempt still runs in the database', async () => {
  const real = eventStore(database.pool)
  const slow = await database.pool.connect()
  let isFirst = true
  const { log } = createLogOver({
    async appendFenced(hold, events, on) {
      if (!isFirst) return real.appendFenced(hold, events, on)
      isFirst = false
      await slow.query('begin')
      await real.appendFenced(hold, events, slow)
      throw cut
    },
  })
  const leased = await leasedSession()
  const appended = log.append(leased, [idle])
  const isWaiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  while ((await slow.query(isWaiting)).rowCount === 0) await new Promise(resolve => setImmediate(resolve))
  await slow.query('commit')
  slow.release()
  await appended
  assert.equal((await rowsOf(leased)).length, 1)
})

test('an owner with a stale fence is stopped, and its events are not published', async () => {
  const { published, log } = createLogOver()
  const leased = await leasedSession(7)
  await assert.rejects(log.append(leased, [idle]), FenceLost)
  assert.deepEqual(published, [])
})

test('an owner that lost its session while the database was unreachable stops retrying', async () => {
  const leased = await leasedSession()
  const { log } = createLogOver({
    appendFenced: async () => {
      leased.lose()
      throw cut
    },
  })
  await assert.rejects(log.append(leased, [idle]), FenceLost)
})

test('a permanent error is not retried', async () => {
  let attempts = 0
  const { log } = createLogOver({
    appendFenced: async () => {
      attempts++
      throw new Error('a bug')
    },
  })
  await assert.rejects(log.append(await leasedSession(), [idle]), /^Error: a bug$/)
  assert.equal(attempts, 1)
})
