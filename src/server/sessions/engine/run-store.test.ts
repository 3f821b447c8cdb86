import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import { storedPrompt, storedSession } from '../../../../test/support/sessions/session-rows.ts'
import { idle } from '../../runtimes/runtime.ts'
import { eventStore, withId } from '../log/event-store.ts'
import { promptStore } from '../queue/prompt-store.ts'
import { leaseStore } from './lease-store.ts'
import { runStore } from './run-store.ts'

const { pool } = await freshDatabase()
const runs = runStore(pool)
const prompts = promptStore(pool)
const events = [withId({ type: 'agent.message', content: [] }), withId(idle({ type: 'end_turn' }))]
const done = { state: 'done', outcome: 'completed' } as const

/** Returns a session with an active run. */
async function running(count = 1) {
  const sessionId = await storedSession(pool)
  const ids: string[] = []
  for (let position = 1; position <= count; position++) ids.push(await storedPrompt(pool, sessionId, { position }))
  const leased = await leaseStore(pool).acquire(sessionId, 'me', 0)
  assert.ok(leased)
  const started = await runs.begin(leased, { promptId: ids[0] ?? '', runId: 'run_1' }, [
    withId({ type: 'session.status_running' }),
  ])
  assert.deepEqual(
    started?.map(({ seq, type }) => [seq, type]),
    [[1, 'session.status_running']],
  )
  return { sessionId, leased, ids }
}

const rowOf = async (sessionId: string) => {
  const text = 'select lease_owner, due_at is null as is_idle, last_outcome, next_seq from sessions where id = $1'
  return (await pool.query<{ lease_owner: string | null; is_idle: boolean; last_outcome: string }>(text, [sessionId]))
    .rows[0]
}

const statesOf = async (sessionId: string) =>
  (await prompts.list(sessionId, { after: undefined, limit: 100 })).map(({ state }) => state)

test('the end of the last run stores its events, ends its prompt and releases the lease', async () => {
  const { sessionId, leased } = await running()
  const ended = await runs.end(leased, done, events)
  assert.deepEqual([ended.isReleased, ended.events?.map(({ seq }) => seq)], [true, [2, 3]])
  assert.deepEqual(await rowOf(sessionId), { lease_owner: null, is_idle: true, last_outcome: 'completed', next_seq: 4 })
  assert.deepEqual(await statesOf(sessionId), ['done'])
  assert.deepEqual(
    (await eventStore(pool).page(sessionId, 0, 10)).map(({ type }) => type),
    ['session.status_running', 'agent.message', 'session.status_idle'],
  )
})

test('the end of a run leaves waiting prompts in the queue and keeps the lease for them', async () => {
  const { sessionId, leased, ids } = await running(2)
  const ended = await runs.end(leased, { state: 'error', outcome: 'failed' }, events)
  assert.equal(ended.isReleased, false)
  assert.deepEqual(await statesOf(sessionId), ['error', 'waiting'])
  assert.equal((await prompts.next(sessionId))?.id, ids[1])
  assert.deepEqual((await rowOf(sessionId))?.lease_owner, 'me')
})

test('an owner with an older fence can neither start nor end a run', async () => {
  const { sessionId, leased } = await running(2)
  const stale = { ...leased, fence: leased.fence - 1 }
  assert.deepEqual(await runs.end(stale, done, events), { events: undefined, isReleased: false })
  assert.equal(await runs.begin(stale, { promptId: 'x', runId: 'run_2' }, events), undefined)
  assert.deepEqual(await statesOf(sessionId), ['running', 'waiting'])
})
