import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import { createEngine as createEngineOf, type Part, plays } from '../../../../test/support/sessions/session-engine.ts'
import type { BudgetReached, NewEvent } from '../../../contract/events.ts'
import { masterCaller } from '../../http/caller.ts'
import { failed, idle } from '../../runtimes/runtime.ts'
import { eventStore } from '../log/event-store.ts'
import { pauseStore } from './pause-store.ts'

const { pool } = await freshDatabase()
const reached: BudgetReached = {
  type: 'budget_reached',
  scope: 'session',
  scope_id: 'any',
  max_usd: 1,
  needed_usd: 0.25,
  resets_at: null,
}
const noBudget = idle(reached, { type: 'budget_reached', message: 'no money' })
const said: NewEvent = { type: 'agent.message', content: [{ type: 'text', text: 'so far' }] }
const done = idle({ type: 'end_turn' })

const pausing = plays([said], [noBudget])

const createEngine = (t: TestContext, ...parts: Part[]) => createEngineOf(t, { pool, parts })

test('a run that a budget stops keeps its log and queue position; the session is pending without a lease and continues when resumed', async t => {
  const engine = createEngine(t, pausing, plays([said], [done]))
  const id = await engine.create()
  await engine.prompt(id, 'one')
  await engine.prompt(id, 'two')
  await engine.settle()
  assert.deepEqual(await engine.queueOf(id), ['one waiting (budget)', 'two waiting'])
  assert.equal(await engine.statusOf(id), 'pending')
  const { rows } = await pool.query('select lease_owner, lease_until from sessions where id = $1', [id])
  assert.deepEqual(rows, [{ lease_owner: null, lease_until: null }])
  engine.woken.add(id)
  await engine.settle()
  assert.deepEqual(engine.runs, ['one'], 'a stray wake-up starts nothing')
  await engine.resume(id)
  assert.equal(await engine.statusOf(id), 'pending')
  await engine.settle()
  assert.deepEqual(await engine.queueOf(id), ['one done', 'two done'])
  assert.deepEqual(engine.runs, ['one', 'one', 'two'])
  assert.deepEqual(await engine.logOf(id), [
    'user.message',
    'user.message',
    'session.status_running',
    'agent.message',
    'idle budget_reached',
    'session.status_running',
    'agent.message',
    'idle end_turn',
    'session.status_running',
    'idle end_turn',
  ])
})

test('the end of a paused run names its prompt, and each attempt is a separate run', async t => {
  const engine = createEngine(t, pausing, pausing)
  const id = await engine.create()
  const promptId = await engine.prompt(id, 'one')
  await engine.settle()
  await engine.resume(id)
  await engine.settle()
  const all = await eventStore(pool).page(id, 0, 100)
  const ends = all.filter(({ type }) => type === 'session.status_idle')
  assert.deepEqual(
    ends.map(event => event.prompt_id),
    [promptId, promptId],
  )
  assert.equal(new Set(ends.map(event => event.run_id)).size, 2)
})

test('a pause is not a failure, and an earlier failure shows again after the prompt is cancelled', async t => {
  const engine = createEngine(t, plays([failed('unknown_error', 'no')]), pausing)
  const id = await engine.create()
  await engine.prompt(id, 'fails')
  await engine.settle()
  assert.equal(await engine.statusOf(id), 'error')
  await engine.prompt(id, 'pauses')
  await engine.settle()
  await engine.rules.interrupt(id, masterCaller)
  await engine.settle()
  assert.equal(await engine.statusOf(id), 'idle')
})

for (const way of ['interrupt', 'withdraw', 'event'] as const) {
  test(`a paused prompt can be cancelled (${way}), and later ones continue`, async t => {
    const engine = createEngine(t, pausing)
    const id = await engine.create()
    const promptId = await engine.prompt(id, 'one')
    await engine.prompt(id, 'two')
    await engine.settle()
    if (way === 'interrupt') await engine.rules.interrupt(id, masterCaller)
    else if (way === 'withdraw') await engine.rules.withdraw(id, promptId, masterCaller)
    else {
      const sent = await engine.rules.send(id, [{ type: 'user.interrupt' }], masterCaller)
      assert.deepEqual(
        sent.map(({ type }) => type),
        ['user.interrupt'],
      )
    }
    await engine.settle()
    assert.deepEqual(await engine.queueOf(id), ['one cancelled', 'two done'])
    assert.deepEqual((await engine.logOf(id)).slice(-5), [
      'idle budget_reached',
      'user.interrupt',
      'idle interrupted',
      'session.status_running',
      'idle end_turn',
    ])
    await assert.rejects(engine.rules.withdraw(id, promptId, masterCaller), { code: 'conflict' })
  })
}

test('mode interrupt cancels the paused prompt and precedes waiting ones', async t => {
  const engine = createEngine(t, pausing)
  const id = await engine.create()
  await engine.prompt(id, 'one')
  await engine.prompt(id, 'two')
  await engine.settle()
  await engine.prompt(id, 'urgent', 'interrupt')
  await engine.settle()
  assert.deepEqual(await engine.queueOf(id), ['one cancelled', 'urgent done', 'two done'])
  assert.deepEqual(engine.runs, ['one', 'urgent', 'two'])
})

test('mode reject treats a paused session as busy, and mode steer joins the turn when it continues', async t => {
  const engine = createEngine(t, pausing)
  const id = await engine.create()
  await engine.prompt(id, 'one')
  await engine.settle()
  await assert.rejects(engine.prompt(id, 'rejected', 'reject'), { code: 'conflict' })
  await engine.prompt(id, 'later')
  await engine.prompt(id, 'joins', 'steer')
  await engine.settle()
  assert.deepEqual(engine.runs, ['one'])
  await engine.resume(id)
  await engine.settle()
  assert.deepEqual(engine.runs, ['one', 'one+joins', 'later'])
})

test('a paused session can be deleted and is not resumed', async t => {
  const engine = createEngine(t, pausing)
  const id = await engine.create()
  await engine.prompt(id, 'one')
  await engine.settle()
  await engine.rules.remove(id, masterCaller)
  const { sessions: ready } = await pauseStore(pool).ready({ changed: [`session:${id}`], limit: 100 })
  assert.ok(!ready.some(({ session_id }) => session_id === id))
  assert.equal((await engine.logOf(id)).at(-1), 'session.deleted')
})

test('a stop request that arrives after the pause still cancels the prompt', async t => {
  const stopMeanwhile: Part = async sessionId => {
    await pool.query('update prompts set stop_requested = true where session_id = $1', [sessionId])
    return [[noBudget]]
  }
  const engine = createEngine(t, stopMeanwhile)
  const id = await engine.create()
  await engine.prompt(id, 'one')
  await engine.settle()
  assert.deepEqual(await engine.queueOf(id), ['one cancelled'])
  assert.deepEqual((await engine.logOf(id)).slice(-2), ['session.status_running', 'idle interrupted'])
})

test('a caller that waits for an answer learns that a budget stops the prompt or one before it', async t => {
  const engine = createEngine(t, pausing)
  const id = await engine.create()
  const promptId = await engine.prompt(id, 'one')
  const waiting = engine.wait(id, promptId, AbortSignal.timeout(10_000))
  await engine.settle()
  assert.equal(await waiting, 'paused')
  const behind = await engine.prompt(id, 'two')
  assert.equal(await engine.wait(id, behind, AbortSignal.timeout(10_000)), 'paused')
  await engine.resume(id)
  await engine.settle()
  assert.equal(await engine.wait(id, behind, AbortSignal.timeout(10_000)), 'ended')
})
