import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../../test/support/database.ts'
import { storedSession } from '../../../../test/support/session-rows.ts'
import type { SessionEvent } from '../../../contract/events.ts'
import { DatabaseUnavailable } from '../../platform/errors.ts'
import { createEventLog, FenceLost, type Writer } from './event-log.ts'
import { eventStore, type Queryable } from './event-store.ts'
import type { LiveEvents } from './live-events.ts'

const database = await freshDatabase()

function createLogOver(changes: Partial<ReturnType<typeof eventStore>> = {}) {
  const told: SessionEvent[] = []
  const live = { publish: (_id: string, events: readonly SessionEvent[]) => void told.push(...events) } as LiveEvents
  const store = { ...eventStore(database.pool), ...changes }
  return { told, log: createEventLog({ pool: database.pool, store, live, folds: { note: () => undefined } }) }
}

async function heldSession(fence = 0): Promise<Writer & { readonly lose: () => void }> {
  const lost = new AbortController()
  const sessionId = await storedSession(database.pool)
  const mayWrite = () => !lost.signal.aborted
  const held = {
    sessionId,
    fence,
    wasAbandoned: false,
    lost: lost.signal,
    mayWrite,
    lastSeq: 0,
    onStop: () => undefined,
  }
  return { ...held, lose: () => lost.abort() }
}

const idle = { type: 'session.status_idle' }
const rowsOf = async ({ sessionId }: Writer) => eventStore(database.pool).page(sessionId, 0, 10)
const cut = new DatabaseUnavailable('the connection was lost', undefined)

test('readers are told what was stored, after it was stored', async () => {
  const { told, log } = createLogOver()
  const held = await heldSession()
  await log.append(held, [idle])
  assert.deepEqual(told, await rowsOf(held))
})

test('what goes along with events is stored with them or not at all', async () => {
  const { told, log } = createLogOver()
  const held = await heldSession()
  const rename = async (on: Queryable) => {
    await on.query(`update sessions set title = 'renamed' where id = $1`, [held.sessionId])
  }
  const broken = log.append(held, [idle], async client => {
    await rename(client)
    throw new Error('no')
  })
  await assert.rejects(broken, /^Error: no$/)
  assert.deepEqual([await rowsOf(held), told], [[], []])
  await log.append(held, [idle], rename)
  assert.equal((await rowsOf(held)).length, 1)
})

test('an append whose answer was lost is not done twice', async () => {
  const real = eventStore(database.pool)
  let isFirst = true
  const { told, log } = createLogOver({
    async appendHeld(...args) {
      const stored = await real.appendHeld(...args)
      if (!isFirst) return stored
      isFirst = false
      throw cut
    },
  })
  const held = await heldSession()
  await log.append(held, [idle])
  assert.equal((await rowsOf(held)).length, 1)
  assert.deepEqual(told, await rowsOf(held))
})

test('an append is not done twice when its first attempt is still at work in the database', async () => {
  const real = eventStore(database.pool)
  const slow = await database.pool.connect()
  let isFirst = true
  const { log } = createLogOver({
    async appendHeld(hold, events, on) {
      if (!isFirst) return real.appendHeld(hold, events, on)
      isFirst = false
      await slow.query('begin')
      await real.appendHeld(hold, events, slow)
      throw cut
    },
  })
  const held = await heldSession()
  const appended = log.append(held, [idle])
  const isWaiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  while ((await slow.query(isWaiting)).rowCount === 0) await new Promise(resolve => setImmediate(resolve))
  await slow.query('commit')
  slow.release()
  await appended
  assert.equal((await rowsOf(held)).length, 1)
})

test('an owner with a stale fence is stopped, and its readers hear nothing', async () => {
  const { told, log } = createLogOver()
  const held = await heldSession(7)
  await assert.rejects(log.append(held, [idle]), FenceLost)
  assert.deepEqual(told, [])
})

test('an owner that lost its session while the database was away stops trying', async () => {
  const held = await heldSession()
  const { log } = createLogOver({
    appendHeld: async () => {
      held.lose()
      throw cut
    },
  })
  await assert.rejects(log.append(held, [idle]), FenceLost)
})

test('an error that no new attempt cures is not repeated', async () => {
  let attempts = 0
  const { log } = createLogOver({
    appendHeld: async () => {
      attempts++
      throw new Error('a bug')
    },
  })
  await assert.rejects(log.append(await heldSession(), [idle]), /^Error: a bug$/)
  assert.equal(attempts, 1)
})
