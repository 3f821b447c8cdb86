import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../../test/support/database.ts'
import { storedPrompt, storedSession } from '../../../../test/support/session-rows.ts'
import { eventStore, withId } from '../log/event-store.ts'
import { promptStore } from '../queue/prompt-store.ts'
import { leaseStore } from './lease-store.ts'
import { runStore } from './run-store.ts'

const { pool } = await freshDatabase()
const runs = runStore(pool)
const prompts = promptStore(pool)
const events = [withId({ type: 'agent.message' }), withId({ type: 'session.status_idle' })]
const done = { state: 'done', outcome: 'completed' } as const

/** A session with a run under way. */
async function running(count = 1) {
  const sessionId = await storedSession(pool)
  const ids: string[] = []
  for (let position = 1; position <= count; position++) ids.push(await storedPrompt(pool, sessionId, { position }))
  const held = await leaseStore(pool).take(sessionId, 'me', 0)
  assert.ok(held)
  const started = await runs.begin(held, { promptId: ids[0] ?? '', runId: 'run_1' }, [
    withId({ type: 'session.status_running' }),
  ])
  assert.deepEqual(
    started?.map(({ seq, type }) => [seq, type]),
    [[1, 'session.status_running']],
  )
  return { sessionId, held, ids }
}

const rowOf = async (sessionId: string) => {
  const text = 'select lease_owner, due_at is null as is_idle, last_outcome, next_seq from sessions where id = $1'
  return (await pool.query<{ lease_owner: string | null; is_idle: boolean; last_outcome: string }>(text, [sessionId]))
    .rows[0]
}

const statesOf = async (sessionId: string) =>
  (await prompts.list(sessionId, { after: undefined, limit: 100 })).map(({ state }) => state)

test('the end of the last run stores its events, ends its prompt and gives the lease back', async () => {
  const { sessionId, held } = await running()
  const ended = await runs.end(held, done, events)
  assert.deepEqual([ended.isReleased, ended.events?.map(({ seq }) => seq)], [true, [2, 3]])
  assert.deepEqual(await rowOf(sessionId), { lease_owner: null, is_idle: true, last_outcome: 'completed', next_seq: 4 })
  assert.deepEqual(await statesOf(sessionId), ['done'])
  assert.deepEqual(
    (await eventStore(pool).page(sessionId, 0, 10)).map(({ type }) => type),
    ['session.status_running', 'agent.message', 'session.status_idle'],
  )
})

test('the end of a run leaves the prompts that wait, and keeps the lease for them', async () => {
  const { sessionId, held, ids } = await running(2)
  const ended = await runs.end(held, { state: 'error', outcome: 'failed' }, events)
  assert.equal(ended.isReleased, false)
  assert.deepEqual(await statesOf(sessionId), ['error', 'waiting'])
  assert.equal((await prompts.next(sessionId))?.id, ids[1])
  assert.deepEqual((await rowOf(sessionId))?.lease_owner, 'me')
})

test('whoever has an older fence begins and ends nothing', async () => {
  const { sessionId, held } = await running(2)
  const stale = { ...held, fence: held.fence - 1 }
  assert.deepEqual(await runs.end(stale, done, events), { events: undefined, isReleased: false })
  assert.equal(await runs.begin(stale, { promptId: 'x', runId: 'run_2' }, events), undefined)
  assert.deepEqual(await statesOf(sessionId), ['running', 'waiting'])
})
