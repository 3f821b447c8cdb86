import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { createEngine, type Part, plays } from '../../../../test/support/sessions/session-engine.ts'
import type { SessionEvent } from '../../../contract/events.ts'
import { masterCaller } from '../../http/caller.ts'
import { failed, idle, requiresAction } from '../../runtimes/runtime.ts'
import { eventStore } from '../log/event-store.ts'

const { pool } = await freshDatabase()
const done = idle({ type: 'end_turn' })

const logOf = (sessionId: string): Promise<SessionEvent[]> => eventStore(pool).page(sessionId, 0, 100)
const endsIn = (log: readonly SessionEvent[]) =>
  log
    .filter(({ type }) => type === 'session.prompt_ended')
    .map(({ prompt_id, run_id, state, reason }) => ({ prompt_id, run_id, state, reason }))

test('C3: a prompt that is withdrawn before it ran gets its own end event', async t => {
  const engine = createEngine(t, { pool })
  const id = await engine.create()
  const prompt_id = await engine.prompt(id, 'one')
  await engine.rules.withdraw(id, prompt_id, masterCaller)
  assert.deepEqual(endsIn(await logOf(id)), [{ prompt_id, run_id: null, state: 'cancelled', reason: 'withdrawn' }])
})

test('C3: a prompt that joined a turn ends directly before the turn, with the same state', async t => {
  for (const [end, state] of [
    [done, 'done'],
    [failed('unknown_error', 'no'), 'error'],
  ] as const) {
    const engine = createEngine(t, { pool, parts: [plays([end])] })
    const id = await engine.create()
    await engine.prompt(id, 'one')
    const joined = await engine.prompt(id, 'joins', 'steer')
    await engine.settle()
    const log = await logOf(id)
    const run_id = log.at(-1)?.run_id
    assert.deepEqual(endsIn(log), [{ prompt_id: joined, run_id, state, reason: 'steered' }])
    assert.deepEqual(
      log.slice(-2).map(({ type }) => type),
      ['session.prompt_ended', end.type],
    )
  }
})

test('C3: a deletion ends running and waiting prompts before its last event', async t => {
  const isRunning = Promise.withResolvers<void>()
  const over = Promise.withResolvers<void>()
  const blocks: Part = async () => {
    isRunning.resolve()
    await over.promise
    return []
  }
  const engine = createEngine(t, { pool, parts: [blocks] })
  const id = await engine.create()
  const [runs, waits] = [await engine.prompt(id, 'one'), await engine.prompt(id, 'two')]
  engine.runner.wake(id)
  await isRunning.promise
  await engine.rules.remove(id, masterCaller)
  over.resolve()
  await eventually(() => engine.runner.activeCount === 0)
  const log = await logOf(id)
  const run_id = log.find(({ type }) => type === 'session.status_running')?.['run_id']
  const how = { state: 'cancelled', reason: 'deleted' }
  assert.deepEqual(endsIn(log), [
    { prompt_id: runs, run_id, ...how },
    { prompt_id: waits, run_id: null, ...how },
  ])
  assert.equal(log.at(-1)?.type, 'session.deleted')
})

test('C3: prompts that joined an interrupted turn end as interrupted', async t => {
  const paused = idle({
    type: 'budget_reached',
    scope: 'key',
    scope_id: 'key_1',
    max_usd: 1,
    needed_usd: 1,
    resets_at: null,
  })
  const engine = createEngine(t, { pool, parts: [plays([paused])] })
  const id = await engine.create()
  const first = await engine.prompt(id, 'one')
  const joined = await engine.prompt(id, 'joins', 'steer')
  await engine.settle()
  await engine.rules.interrupt(id, masterCaller)
  const log = await logOf(id)
  assert.deepEqual(endsIn(log), [{ prompt_id: joined, run_id: null, state: 'cancelled', reason: 'interrupted' }])
  assert.deepEqual([log.at(-1)?.prompt_id, log.at(-1)?.run_id], [first, null])
})

test('C3: every status event names its prompt and its run, also in the middle of a run', async t => {
  const asks = { id: 'evt_asks', type: 'agent.tool_use', tool_use_id: 'toolu_1', name: 'bash', input: {} } as const
  const goesOn = { type: 'session.status_running' } as const
  const engine = createEngine(t, { pool, parts: [plays([asks], [requiresAction(['evt_asks'])], [goesOn], [done])] })
  const id = await engine.create()
  const promptId = await engine.prompt(id, 'one')
  await engine.settle()
  const statuses = (await logOf(id)).filter(({ type }) => type.startsWith('session.status_'))
  assert.equal(statuses.length, 4)
  assert.deepEqual(new Set(statuses.map(({ prompt_id }) => prompt_id)), new Set([promptId]))
  assert.equal(new Set(statuses.map(({ run_id }) => run_id)).size, 1)
  assert.ok(statuses[0]?.run_id)
})
