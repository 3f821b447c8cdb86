import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { createEngine, type Part, plays } from '../../../../test/support/sessions/session-engine.ts'
import { masterCaller } from '../../http/caller.ts'
import { pause } from '../../platform/timers.ts'
import { idle, requiresAction } from '../../runtimes/runtime.ts'

const { pool } = await freshDatabase()
const done = [idle({ type: 'end_turn' })]

type Engine = ReturnType<typeof createEngine>

/** Runs that take a while, with the peak number of concurrent ones. */
function slowRuns() {
  const counts = { now: 0, most: 0, all: 0 }
  const part = async () => {
    counts.now++
    counts.all++
    counts.most = Math.max(counts.most, counts.now)
    await pause(10)
    counts.now--
    return [done]
  }
  return { counts, parts: (count: number) => Array.from({ length: count }, () => part) }
}

async function waitingSessions(engine: Engine, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let at = 0; at < count; at++) {
    const id = await engine.create()
    await engine.prompt(id, `prompt ${at}`)
    ids.push(id)
  }
  return ids
}

async function openCount(): Promise<number> {
  const { rows } = await pool.query<{ open: number }>(
    `select count(*) as open from prompts where state in ('waiting', 'running')`,
  )
  return rows[0]?.open ?? 0
}

// No sweep runs in these tests: `start` is never called.

test('sessions beyond the limit run as soon as a slot is free, without another wake-up', async t => {
  const { counts, parts } = slowRuns()
  const engine = createEngine(t, { pool, parts: parts(13), maxSessions: 3 })
  const [alone = ''] = await waitingSessions(engine, 1)
  engine.runner.wake(alone)
  await engine.runner.settled(alone)
  for (const id of await waitingSessions(engine, 12)) engine.runner.wake(id)
  await eventually(async () => (await openCount()) === 0)
  assert.equal(counts.all, 13)
  assert.ok(counts.most <= 3, `${counts.most} at once`)
})

test('processes notified of the same sessions share them: each runs once', async t => {
  const { counts, parts } = slowRuns()
  const shared = parts(20)
  const engines = [0, 1].map(() => createEngine(t, { pool, parts: shared, maxSessions: 3 }))
  const [first] = engines
  assert.ok(first)
  for (const id of await waitingSessions(first, 20)) for (const { runner } of engines) runner.wake(id)
  await eventually(async () => (await openCount()) === 0)
  assert.equal(counts.all, 20)
  assert.ok(counts.most <= 6, `${counts.most} at once`)
})

test('while callers wait, sessions start a few at a time, even beside long runs; afterwards all start at once', async t => {
  const over = Promise.withResolvers<void>()
  const long = async () => {
    await over.promise
    return [done]
  }
  const pressure = { isOn: true }
  const parts = Array.from({ length: 30 }, () => long)
  const engine = createEngine(t, { pool, parts, maxSessions: 30, isPressed: () => pressure.isOn })
  const ids = await waitingSessions(engine, 30)
  const startedAt = performance.now()
  for (const id of ids) engine.runner.wake(id)
  await eventually(() => engine.runs.length >= 4)
  const most = 2 + Math.ceil((performance.now() - startedAt) / 200)
  assert.ok(engine.runner.activeCount <= most, `${engine.runner.activeCount} sessions, not ${most} at most`)
  pressure.isOn = false
  await eventually(() => engine.runs.length === 30)
  over.resolve()
  await eventually(async () => (await openCount()) === 0)
})

test('R5: a session that waits for approval uses no slot, and continues after the decision', async t => {
  const ask = { id: 'evt_ask', type: 'agent.tool_use', tool_use_id: 'toolu_1', name: 'bash', input: {} } as const
  const waitsForApproval: Part = async function* (_sessionId, { decision }) {
    yield [ask]
    yield [requiresAction([ask.id])]
    const said = await decision(ask.id)
    yield said ? done : []
  }
  const engine = createEngine(t, { pool, parts: [waitsForApproval], maxSessions: 1 })
  const [asking = '', next = ''] = await waitingSessions(engine, 2)
  engine.runner.wake(asking)
  await eventually(async () => (await engine.logOf(asking)).includes('idle requires_action'))
  engine.runner.wake(next)
  await eventually(async () => (await engine.queueOf(next))[0] === 'prompt 1 done')
  assert.deepEqual(await engine.queueOf(asking), ['prompt 0 running (approval)'])
  const verdict = { type: 'user.tool_confirmation', tool_use_id: ask.id, result: 'allow' } as const
  await engine.rules.send(asking, [verdict], masterCaller)
  await eventually(async () => (await engine.queueOf(asking))[0] === 'prompt 0 done')
})

test('a run that can be parked while it waits for approval releases its slot and its lease, and continues in any process', async t => {
  const ask = { id: 'evt_parked', type: 'agent.tool_use', tool_use_id: 'toolu_1', name: 'bash', input: {} } as const
  const waitsForApproval: Part = async function* (_sessionId, { decision }) {
    yield [ask]
    yield [requiresAction([ask.id])]
    assert.equal(await decision(ask.id), undefined)
  }
  const continues: Part = async function* (_sessionId, { decision }) {
    yield (await decision(ask.id))?.result === 'allow' ? done : []
  }
  const [here, there] = [[waitsForApproval], [continues]].map(parts =>
    createEngine(t, { pool, parts, maxSessions: 1, parks: true }),
  )
  assert.ok(here && there)
  const [id = ''] = await waitingSessions(here, 1)
  here.runner.wake(id)
  await eventually(() => here.runs.length === 1 && here.runner.activeCount === 0)
  const leased = 'select id from sessions where id = $1 and (lease_owner is not null or due_at < clock_timestamp())'
  assert.deepEqual((await pool.query(leased, [id])).rows, [], 'nobody has it, and nobody need take it')
  assert.deepEqual([await here.queueOf(id), await here.statusOf(id)], [['prompt 0 running (approval)'], 'idle'])
  const verdict = { type: 'user.tool_confirmation', tool_use_id: ask.id, result: 'allow' } as const
  await here.rules.send(id, [verdict], masterCaller)
  assert.ok(here.woken.has(id))
  there.runner.findWork()
  await eventually(async () => (await there.queueOf(id))[0] === 'prompt 0 done')
})

test('a run that defers its prompt releases its lease, and continues when the delay is over', async t => {
  const waits: Part = async function* (_sessionId, { postpone }) {
    yield [{ type: 'agent.message', content: [] }]
    await postpone?.(300)
  }
  const engine = createEngine(t, { pool, parts: [waits, plays(done)], maxSessions: 1, parks: true })
  const [id = ''] = await waitingSessions(engine, 1)
  engine.runner.wake(id)
  await eventually(async () => engine.runs.length === 1 && engine.runner.activeCount === 0)
  assert.deepEqual(await engine.queueOf(id), ['prompt 0 running (retry)'])
  await eventually(async () => (await engine.queueOf(id))[0]?.startsWith('prompt 0 done'))
  assert.equal(engine.runs.length, 2)
})

test('a session whose log is full rejects further runs with an error', async t => {
  const logCap = { events: 4, bytes: 1_000_000 }
  const engine = createEngine(t, { pool, parts: [plays(done), plays(done)], logCap })
  const id = await engine.create()
  for (const text of ['one', 'two', 'three']) await engine.prompt(id, text)
  await engine.settle()
  assert.deepEqual(await engine.queueOf(id), ['one done', 'two error', 'three error'])
  assert.deepEqual((await engine.logOf(id)).slice(-1), ['session.error'])
})

test('H3: a prompt whose key is not valid for work starts no run, on no runtime', async t => {
  const engine = createEngine(t, { pool })
  const id = await engine.create()
  const key = { id: 'key_gone', models: [], isLimited: false, isNarrow: false, expires: false }
  const body = { parts: [{ type: 'text' as const, text: 'hi' }], model: 'demo', mode: undefined }
  await engine.rules.prompt(id, body, { caller: { ...masterCaller, key }, idempotency: undefined })
  engine.runner.wake(id)
  await engine.runner.settled(id)
  assert.deepEqual(engine.runs, [])
  assert.deepEqual(await engine.queueOf(id), ['hi error'])
})

test('a sweep finds work whose wake-ups were lost', async t => {
  const { counts, parts } = slowRuns()
  const engine = createEngine(t, { pool, parts: parts(5), maxSessions: 2 })
  await waitingSessions(engine, 5)
  engine.runner.findWork()
  await eventually(async () => (await openCount()) === 0)
  assert.equal(counts.all, 5)
})

test('a draining process starts no session and keeps no lease', async t => {
  const { counts, parts } = slowRuns()
  const engine = createEngine(t, { pool, parts: parts(4), maxSessions: 2 })
  const ids = await waitingSessions(engine, 4)
  engine.runner.findWork()
  const draining = engine.runner.drain(1_000)
  for (const id of ids) engine.runner.wake(id)
  await draining
  const { rows } = await pool.query('select id from sessions where lease_owner is not null')
  assert.deepEqual(rows, [])
  assert.equal(await openCount(), 4 - counts.all)
})
