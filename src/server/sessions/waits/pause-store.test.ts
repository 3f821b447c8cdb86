import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import { startPrompt, storedPrompt, storedSession } from '../../../../test/support/sessions/session-rows.ts'
import { leaseStore } from '../engine/lease-store.ts'
import { promptStore } from '../queue/prompt-store.ts'
import { sessionStore } from '../session-store.ts'
import { type BudgetId, pauseStore } from './pause-store.ts'

const { pool } = await freshDatabase()
const pauses = pauseStore(pool)
const prompts = promptStore(pool)
const sessions = sessionStore(pool)

interface Limit {
  readonly scope: 'key' | 'owner' | 'agent' | 'session' | 'team'
  readonly scope_id: string
  readonly max?: string | null
  readonly spent?: string
  readonly reserved?: string
  /** Seconds from now. */
  readonly resetsIn?: number
}

/** Sets a budget and its counters. */
async function setBudget({ scope, scope_id, max = '1', spent = '0', reserved = '0', resetsIn }: Limit): Promise<void> {
  const text = `
    insert into budgets (scope, scope_id, max_usd, spent_usd, reserved_usd, reset_at)
    values ($1, $2, $3, $4, $5, clock_timestamp() + $6 * interval '1 second')
    on conflict (scope, scope_id) do update set max_usd = $3, spent_usd = $4, reserved_usd = $5, reset_at = excluded.reset_at`
  await pool.query(text, [scope, scope_id, max, spent, reserved, resetsIn ?? null])
}

/** Returns a session whose only prompt a budget has stopped. */
async function pausedSession({ keyId, ...stopped }: Stopped & { readonly keyId?: string } = {}) {
  const id = await storedSession(pool)
  const promptId = await storedPrompt(pool, id, { position: 1 })
  await pool.query('update prompts set key_id = $2 where id = $1', [promptId, keyId])
  await stop(id, promptId, { hasProgressed: true, ...stopped })
  return { id, promptId }
}

interface Stopped {
  readonly needs?: number | null
  readonly hasProgressed?: boolean
  readonly budget?: BudgetId
}

async function stop(
  sessionId: string,
  promptId: string,
  { needs = 0.25, hasProgressed = false, budget }: Stopped = {},
) {
  await startPrompt(pool, promptId, 'run_1')
  await pauses.pause(pool, { sessionId, kind: 'budget', needsUsd: needs, hasProgressed, ...(budget && { budget }) })
  await sessions.setDue(pool, sessionId)
}

const isReady = async (id: string, changed: readonly string[] = []) =>
  (await pauses.ready({ changed, limit: 1_000 })).sessions.some(({ session_id }) => session_id === id)

async function resumed(id: string, times = 1): Promise<boolean> {
  const client = await pool.connect()
  try {
    const isResumed = await pauses.resume(client, { session_id: id, times })
    await sessions.setDue(client, id)
    return isResumed
  } finally {
    client.release()
  }
}

const rowOf = async (promptId: string) => {
  const text = `
    select state, waits.kind as held_by, run_id, held_times, needs_usd, extract(epoch from not_before - clock_timestamp())::float8 as rest
    from prompts left join waits on prompt_id = id where id = $1`
  const { rows } = await pool.query<{ state: string; held_by: string | null; held_times: number; rest: number }>(text, [
    promptId,
  ])
  return rows[0]
}

test('a prompt that a budget stopped keeps its position, and neither it nor later ones run', async () => {
  const id = await storedSession(pool)
  const first = await storedPrompt(pool, id, { position: 1 })
  await storedPrompt(pool, id, { position: 2 })
  await stop(id, first)
  const queue = await prompts.list(id, { after: undefined, limit: 10 })
  assert.deepEqual(
    queue.map(({ position, state, held_by }) => [position, state, held_by]),
    [
      [1, 'waiting', 'budget'],
      [2, 'waiting', null],
    ],
  )
  const taken = async () => (await leaseStore(pool).acquireOldest(1_000, 'me')).map(({ sessionId }) => sessionId)
  assert.equal(await prompts.next(id), undefined)
  assert.ok(!(await taken()).includes(id), 'no sweeper finds it')
  await resumed(id)
  assert.equal((await prompts.next(id))?.id, first)
  assert.ok((await taken()).includes(id))
})

test('D6: a paused session is pending, in its record and in lists, also after its budget has room', async () => {
  const { id } = await pausedSession()
  const listed = async (status: 'idle' | 'pending') => {
    const filter = { owner: undefined, agentId: undefined, withDeleted: false, cursor: undefined, limit: 100 }
    return (await sessions.list({ ...filter, status })).some(row => row.id === id)
  }
  assert.equal((await sessions.find(id))?.paused, true)
  assert.deepEqual([await listed('idle'), await listed('pending')], [false, true])
  await resumed(id)
  assert.equal((await sessions.find(id))?.paused, false)
  assert.deepEqual([await listed('idle'), await listed('pending')], [false, true])
})

test('a prompt before the paused one runs', async () => {
  const { id } = await pausedSession()
  const urgent = await storedPrompt(pool, id, { position: 0 })
  assert.equal((await prompts.next(id))?.id, urgent)
  assert.equal((await sessions.find(id))?.paused, false)
})

test('a paused prompt with a stop request is picked up to be stopped', async () => {
  const id = await storedSession(pool)
  const promptId = await storedPrompt(pool, id, { position: 1 })
  await startPrompt(pool, promptId, 'run_1')
  await prompts.requestStop(pool, id)
  await pauses.pause(pool, { kind: 'budget', sessionId: id, needsUsd: 1, hasProgressed: false })
  assert.equal((await prompts.next(id))?.stop_requested, true)
})

test('a session is ready when all its budgets have room for the rejected call', async () => {
  const { id } = await pausedSession({ needs: 0.25 })
  const budget = { scope: 'session', scope_id: id } as const
  for (const [spent, reserved, expected] of [
    ['0.75', '0', true],
    ['0.750000000001', '0', false],
    ['0.5', '0.25', true],
    ['0.5', '0.3', false],
  ] as const) {
    await setBudget({ ...budget, spent, reserved })
    assert.equal(await isReady(id), expected, `${spent} spent, ${reserved} reserved`)
  }
  await setBudget({ ...budget, spent: '0' })
  await setBudget({ scope: 'owner', scope_id: 'ada', spent: '1' })
  assert.equal(await isReady(id), false, 'the owner has none left')
  await setBudget({ scope: 'owner', scope_id: 'ada', max: null, spent: '1' })
  assert.equal(await isReady(id), true, 'the owner has no limit any more')
  await pool.query('delete from budgets')
  assert.equal(await isReady(id), true, 'nothing limits it any more')
})

test('the budgets of the prompt’s key and of the session’s agent count', async () => {
  const { id, promptId } = await pausedSession()
  await pool.query(
    `insert into api_keys (id, label, role, models, metadata, prefix, last4, created_by)
     values ('key_1', '', 'user', '[]', '{}', 'sk', 'last', 'ada')`,
  )
  await pool.query(`update prompts set key_id = 'key_1' where id = $1`, [promptId])
  await pool.query(`update sessions set agent_id = 'agent_1' where id = $1`, [id])
  for (const budget of [
    { scope: 'key', scope_id: 'key_1' },
    { scope: 'agent', scope_id: 'agent_1' },
  ] as const) {
    await setBudget({ ...budget, spent: '0.9' })
    assert.equal(await isReady(id), false, budget.scope)
    await setBudget({ ...budget, spent: '0.1' })
    assert.equal(await isReady(id), true, budget.scope)
  }
})

test('a prompt does not wait for the budget of a key that is revoked, expired or deleted', async () => {
  const waiting = async (keyId: string) => {
    const { id, promptId } = await pausedSession()
    await pool.query('update prompts set key_id = $2 where id = $1', [promptId, keyId])
    await setBudget({ scope: 'key', scope_id: keyId, spent: '1' })
    return id
  }
  const keyUntil = (id: string, revoked: string, expires: string) =>
    pool.query(
      `insert into api_keys (id, label, role, models, metadata, prefix, last4, created_by, revoked_at, expires_at)
       values ($1, '', 'user', '[]', '{}', 'sk', 'last', 'ada', ${revoked}, ${expires})`,
      [id],
    )
  await keyUntil('key_good', 'null', `clock_timestamp() + interval '1 hour'`)
  await keyUntil('key_revoked', 'clock_timestamp()', 'null')
  await keyUntil('key_expired', 'null', 'clock_timestamp()')
  for (const [keyId, expected] of [
    ['key_good', false],
    ['key_revoked', true],
    ['key_expired', true],
    ['key_gone', true],
  ] as const) {
    assert.equal(await isReady(await waiting(keyId)), expected, keyId)
  }
})

test('a budget whose period is over has room before its next write', async () => {
  const { id } = await pausedSession()
  const budget = { scope: 'session', scope_id: id, spent: '1' } as const
  await setBudget({ ...budget, resetsIn: 60 })
  assert.equal(await isReady(id), false)
  await setBudget({ ...budget, resetsIn: -1 })
  assert.equal(await isReady(id), true)
})

test('any room suffices when the cost of the rejected call is unknown', async () => {
  const { id } = await pausedSession({ needs: null })
  const budget = { scope: 'session', scope_id: id } as const
  await setBudget({ ...budget, spent: '1' })
  assert.equal(await isReady(id), false)
  await setBudget({ ...budget, spent: '0.99' })
  assert.equal(await isReady(id), true)
})

test('of many prompts that share a budget only those that fit together resume, the oldest first', async () => {
  const ids: string[] = []
  for (const needs of [0.4, 5, 0.4, 0.4]) {
    const { id } = await pausedSession({ needs })
    await pool.query(`update sessions set owner_id = 'shared' where id = $1`, [id])
    ids.push(id)
  }
  await setBudget({ scope: 'owner', scope_id: 'shared', max: '1' })
  const ready = (await pauses.ready({ changed: [], limit: 1_000 })).sessions
    .map(({ session_id }) => session_id)
    .filter(id => ids.includes(id))
  assert.deepEqual(ready, [ids[0], ids[2]], 'one that can never fit holds nobody up')
})

test('a prompt that is stopped repeatedly without progress backs off', async () => {
  const { id, promptId } = await pausedSession()
  const delays: number[] = []
  for (let times = 1; times <= 10; times++) {
    const row = await rowOf(promptId)
    assert.equal(row?.held_times, times)
    delays.push(Math.max(0, Math.ceil(row?.rest ?? 0)))
    assert.equal(await isReady(id), times === 1)
    await resumed(id, times)
    await stop(id, promptId)
  }
  assert.deepEqual(delays, [0, 5, 10, 20, 40, 80, 160, 300, 300, 300])
  assert.equal(await isReady(id, [`owner:ada`]), true, 'a change of its budget ends the rest')
  assert.equal(await isReady(id, [`owner:bo`, 'session:other']), false)
  await resumed(id, 11)
  await stop(id, promptId, { hasProgressed: true })
  assert.equal((await rowOf(promptId))?.held_times, 1, 'progress does so too')
})

test('a pause is resumed once, and only in the state that was checked', async () => {
  const { id, promptId } = await pausedSession()
  const all = await Promise.all(Array.from({ length: 10 }, () => resumed(id)))
  assert.equal(all.filter(Boolean).length, 1)
  await stop(id, promptId)
  assert.equal(await resumed(id, 1), false, 'it was stopped again since')
  assert.equal(await resumed(id, 2), true)
})

test('all prompts of a run pause and resume together, and joined ones join again', async () => {
  const id = await storedSession(pool)
  const first = await storedPrompt(pool, id, { position: 1 })
  const steering = await storedPrompt(pool, id, { position: 3, mode: 'steer' })
  await storedPrompt(pool, id, { position: 2 })
  await startPrompt(pool, first, 'run_1')
  await prompts.join({ sessionId: id, fence: 0 }, 'run_1')
  await pauses.pause(pool, { kind: 'budget', sessionId: id, needsUsd: null, hasProgressed: true })
  assert.deepEqual([(await rowOf(first))?.held_by, (await rowOf(steering))?.held_by], ['budget', 'budget'])
  await resumed(id)
  await startPrompt(pool, first, 'run_2')
  const run = await prompts.join({ sessionId: id, fence: 0 }, 'run_2')
  assert.deepEqual(
    run.map(prompt => [prompt.id, prompt.run_id]),
    [
      [first, 'run_2'],
      [steering, 'run_2'],
    ],
  )
})

test('a cancelled prompt is no longer paused: by a stop, a withdrawal, or a deletion', async () => {
  const client = await pool.connect()
  const { id, promptId } = await pausedSession()
  assert.deepEqual(await pauses.cancel(client, id, 'msg_other'), [])
  assert.deepEqual(await pauses.cancel(client, id, promptId), [promptId])
  assert.deepEqual(await pauses.cancel(client, id), [])
  assert.deepEqual([(await rowOf(promptId))?.state, (await rowOf(promptId))?.held_by], ['cancelled', null])
  const deleted = await pausedSession()
  await prompts.cancelAll(client, deleted.id)
  await sessions.markDeleted(client, deleted.id)
  client.release()
  assert.equal((await rowOf(deleted.promptId))?.state, 'cancelled')
  assert.equal(await isReady(deleted.id), false)
})

test('a prompt is paused when it or an earlier one waits for a budget', async () => {
  const { id, promptId } = await pausedSession()
  const before = await storedPrompt(pool, id, { position: 0 })
  const behind = await storedPrompt(pool, id, { position: 2 })
  const all = await Promise.all([before, promptId, behind].map(prompt => pauses.isPaused(prompt)))
  assert.deepEqual(all, [false, true, true])
})

/** Returns sessions of one owner that wait for its budget, each with its place in the line. */
async function inLine(owner: string, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let at = 0; at < count; at++) {
    const { id } = await pausedSession({ needs: 0.1, budget: { scope: 'owner', scope_id: owner } })
    await pool.query('update sessions set owner_id = $2 where id = $1', [id, owner])
    ids.push(id)
  }
  return ids
}

test('a prompt that another budget stops now waits for that budget and does not block others', async () => {
  const ids = await inLine('line', 4)
  await setBudget({ scope: 'owner', scope_id: 'line', max: '10' })
  const [first = '', ...others] = ids
  await setBudget({ scope: 'session', scope_id: first, max: '1', spent: '1' })
  assert.deepEqual(await Promise.all(ids.map(id => isReady(id))), [false, true, true, true])
  const { rows } = await pool.query<{ scope: string }>('select scope from waits where session_id = any ($1)', [
    [first, ...others],
  ])
  assert.deepEqual(rows.map(({ scope }) => scope).sort(), ['owner', 'owner', 'owner', 'session'])
  await setBudget({ scope: 'session', scope_id: first, max: '2', spent: '1' })
  assert.equal(await isReady(first), true)
})

test('a prompt waits for the budget of the team of its key, and is due as soon as that changes', async () => {
  await pool.query(`insert into teams (id, name, owner_id, created_by) values ('team_1', 'T', 'team_1', 'master')`)
  await pool.query(`
    insert into api_keys (id, label, role, models, metadata, prefix, last4, created_by, team_id)
    values ('key_of_team', '', 'user', '[]', '{}', '', '', 'master', 'team_1')`)
  const budget = { scope: 'team', scope_id: 'team_1' } as const
  await setBudget({ ...budget, spent: '1' })
  const { id, promptId } = await pausedSession({ keyId: 'key_of_team', budget })
  await stop(id, promptId, { budget })
  await stop(id, promptId, { budget })
  assert.equal(await isReady(id, ['team:team_1']), false)
  await setBudget({ ...budget, max: '5', spent: '1' })
  assert.equal(await isReady(id), false, 'it backs off')
  assert.equal(await isReady(id, ['team:team_1']), true)
})

test('revoking a key ends the wait of its prompts for another budget', async () => {
  const { id } = await pausedSession({ budget: { scope: 'owner', scope_id: 'spent' }, keyId: 'key_never_there' })
  await setBudget({ scope: 'owner', scope_id: 'spent', spent: '1' })
  assert.equal(await isReady(id), true)
})
