import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  call,
  errorOf,
  git,
  startCursorRig,
  textStep,
  turn,
  turnTypes,
} from '../../../../test/support/cursor/cursor-rig.ts'
import type { CursorStep } from '../../../../test/support/cursor/cursor-runs.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { messagesIn, textOf } from '../../../../test/support/sessions/event-text.ts'
import { promptOf, runRig, sessionWith } from '../../../../test/support/sessions/run-rig.ts'
import type { SessionEvent } from '../../../contract/events.ts'

/** The log without generated fields. */
const told = (log: readonly SessionEvent[]) => log.map(({ id: _, seq: __, processed_at: ___, ...event }) => event)

/** Runs two prompts and interrupts a run at write number `cut`; returns the number of writes. */
async function runCutOff(cut: number) {
  const { fake, runtime } = await startCursorRig({ script: () => turn })
  const rig = runRig(sessionWith())
  let stored = 0
  const isCrash = () => stored++ === cut
  const onRemember = () => {
    if (isCrash()) throw new Error('the process is gone')
  }
  const isOver = () => rig.log.at(-1)?.type === 'session.status_idle'
  for (const prompt of [promptOf('One'), promptOf('Two')]) {
    for (let rounds = 0; rounds === 0 || !isOver(); rounds++) {
      assert.ok(rounds < 5, 'a run that was interrupted once continues to its end')
      const running = rig.run(runtime, prompt, { isResumed: rounds > 0, onBatch: isCrash, onRemember })
      await running.catch((error: Error) => assert.match(error.message, /the process is gone/))
    }
  }
  await fake.stop()
  return { stored, log: told(rig.log), made: [fake.account.agents.size, fake.account.runsMade] }
}

type Stage = Awaited<ReturnType<typeof startCursorRig>>

/** Resumes a run that ended while no process followed it, and whose stream has expired. */
async function endedUnseen(fake: Stage['fake'], runtime: Stage['runtime']) {
  const rig = runRig()
  const prompt = promptOf('Go')
  await rig.run(runtime, prompt, { onBatch: () => true })
  fake.account.hasExpired = true
  fake.runs[0]?.release()
  await eventually(() => fake.runs[0]?.isActive === false)
  await rig.run(runtime, prompt, { isResumed: true })
  return rig
}

test('a crash at any write creates no second agent or run and leaves the same log', async () => {
  const whole = await runCutOff(-1)
  assert.ok(whole.stored >= 12, `${whole.stored} things are stored`)
  const shape = (log: ReturnType<typeof told>) => log.map(({ prompt_id: _, git: __, ...event }) => event)
  for (let cut = 0; cut < whole.stored; cut++) {
    const { log, made } = await runCutOff(cut)
    assert.deepEqual(made, [1, 2], `cut off at ${cut}`)
    assert.deepEqual(withoutRunIds(shape(log)), withoutRunIds(shape(whole.log)), `cut off at ${cut}`)
  }
})

/** Each fake generates new run ids. */
const withoutRunIds = (log: readonly object[]): unknown =>
  JSON.parse(JSON.stringify(log).replaceAll(/run-[0-9a-f-]{36}/g, 'run'))

for (const call of ['POST /v1/agents', 'POST /v1/agents/*/runs'] as const) {
  test(`a lost response to ${call} creates no second agent or run`, async t => {
    const { fake, runtime } = await startCursorRig()
    t.after(fake.stop)
    fake.fail(call, 'break-after')
    const rig = runRig()
    await rig.run(runtime, promptOf('One'))
    await rig.run(runtime, promptOf('Two'))
    assert.deepEqual([fake.account.agents.size, fake.account.runsMade], [1, 2])
    assert.deepEqual(rig.types().filter(type => type === 'session.status_idle').length, 2)
  })
}

test('a foreign run that blocked the agent is not mistaken for ours after a crash', async t => {
  const { fake, runtime } = await startCursorRig({
    script: prompt => (prompt === 'Foreign' ? [{ hold: true }] : [textStep(prompt)]),
  })
  t.after(fake.stop)
  const rig = runRig()
  await rig.run(runtime, promptOf('One'))
  const prompt = promptOf('Two')
  const agentId = rig.refs.provider_session_id ?? ''
  // It starts after our request for the agent and right before our run.
  let foreign: { release(): void } | undefined
  const crash = () => {
    if (foreign) throw new Error('the process is gone')
    foreign = fake.account.begin(agentId, 'Foreign')
  }
  await assert.rejects(rig.run(runtime, prompt, { onRemember: crash }), /the process is gone/)
  foreign?.release()
  await rig.run(runtime, prompt, { isResumed: true })
  assert.equal(textOf(rig.log.at(-3)), 'Two')
  assert.equal(fake.account.runsMade, 3)
})

test('an interrupted stream is resumed after its last event', async t => {
  const { fake, runtime } = await startCursorRig({
    script: () => [...turn.slice(0, 3), { cut: 1 }, { hold: true }, ...turn.slice(3)],
  })
  t.after(fake.stop)
  const rig = runRig()
  const running = rig.run(runtime, promptOf('Go'))
  await eventually(() => fake.count('GET /v1/agents/*/runs/*/stream') > 1)
  fake.runs[0]?.release()
  await running
  assert.deepEqual(rig.types(), turnTypes)
  assert.equal(textOf(rig.log.find(({ type }) => type === 'agent.message')), 'I look.')
  const again = fake.calls.filter(({ name }) => name.endsWith('/stream')).at(-1)
  assert.match(again?.headers['last-event-id']?.toString() ?? '', /^\d+-0$/)
})

test('if the stream has expired, the run ends from its record, with its last text', async t => {
  const { fake, runtime } = await startCursorRig({
    script: () => [textStep('I '), call('running'), { hold: true }, { end: { text: 'All done.', git } }],
  })
  t.after(fake.stop)
  const rig = await endedUnseen(fake, runtime)
  assert.deepEqual(rig.types(), [
    'session.status_running',
    'agent.message',
    'agent.tool_use',
    'agent.message',
    'agent.tool_result',
    'agent.tool_result',
    'session.status_idle',
  ])
  assert.deepEqual(messagesIn(rig.log), ['I ', 'All done.'])
  assert.deepEqual(rig.log.at(-1)?.git, git)
})

test('if Cursor rejects the place in the stream, the run ends from its record', async t => {
  const { fake, runtime } = await startCursorRig({
    script: () => [call('running'), { hold: true }, { end: { text: 'Done.' } }],
  })
  t.after(fake.stop)
  const rig = runRig()
  const prompt = promptOf('Go')
  await rig.run(runtime, prompt, { onBatch: () => true })
  fake.fail('GET /v1/agents/*/runs/*/stream', 400, { code: 'invalid_last_event_id' })
  const running = rig.run(runtime, prompt, { isResumed: true })
  await eventually(() => fake.count('GET /v1/agents/*/runs/*') > 1)
  fake.runs[0]?.release()
  await running
  assert.equal(rig.log.at(-1)?.type, 'session.status_idle')
  assert.equal(rig.types().filter(type => type === 'agent.tool_use').length, 1)
})

const garbage: readonly (readonly [guarantee: string, step: CursorStep])[] = [
  ['a frame that is no JSON', { raw: 'id: 9-9\nevent: assistant\ndata: {"text": \n\n' }],
  ['a frame of more than 16 Mi characters', { raw: `event: assistant\ndata: "${'x'.repeat(17 * 1024 * 1024)}"\n\n` }],
  ['a stream that always breaks', { cut: 1000 }],
]
for (const [what, step] of garbage) {
  test(`${what} neither blocks nor fails the run: it ends from its record`, async t => {
    const { fake, runtime } = await startCursorRig({
      script: () => [call('running'), step, { hold: true }, { end: { text: 'Done.' } }],
    })
    t.after(fake.stop)
    const rig = runRig()
    const running = rig.run(runtime, promptOf('Go'))
    await eventually(() => fake.count('GET /v1/agents/*/runs/*') > 4)
    assert.ok(fake.count('GET /v1/agents/*/runs/*/stream') <= 4, 'the same stream is not read for ever')
    fake.runs[0]?.release()
    await running
    assert.equal(rig.log.at(-1)?.type, 'session.status_idle')
    assert.equal(rig.log.filter(({ type }) => type === 'agent.tool_result').length, 2)
  })
}

test('an event of 10 MB is truncated to the limit of the log', async t => {
  const { fake, runtime } = await startCursorRig({
    script: () => [call('completed', { result: 'x'.repeat(10_000_000) }), textStep('Done.')],
  })
  t.after(fake.stop)
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'))
  assert.equal(rig.log.at(-1)?.type, 'session.status_idle')
  assert.ok(JSON.stringify(rig.log).length < 1_200_000)
})

test('a stream that is not available yet is requested again', async t => {
  const { fake, runtime } = await startCursorRig({
    script: () => [
      { event: 'error', data: { code: 'stream_unavailable', message: 'not yet' } },
      { event: 'done', data: {} },
      { hold: true },
      textStep('Hi'),
      { end: { text: 'Hi' } },
    ],
  })
  t.after(fake.stop)
  const rig = runRig()
  const running = rig.run(runtime, promptOf('Go'))
  await eventually(() => fake.count('GET /v1/agents/*/runs/*/stream') > 1)
  fake.runs[0]?.release()
  await running
  assert.deepEqual(rig.types(), ['session.status_running', 'agent.message', 'agent.tool_result', 'session.status_idle'])
})

test('after done without an end, the run’s record is read', async t => {
  const { fake, runtime } = await startCursorRig({
    script: () => [textStep('Hi'), { event: 'done', data: {} }, { silentEnd: { text: 'Hi', git } }],
  })
  t.after(fake.stop)
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'))
  assert.deepEqual(rig.types(), ['session.status_running', 'agent.message', 'agent.tool_result', 'session.status_idle'])
  assert.deepEqual(rig.log.at(-1)?.git, git)
})

const ends = [
  ['FINISHED', 'session.status_idle'],
  ['ERROR', 'session.error'],
  ['CANCELLED', 'session.error'],
  ['EXPIRED', 'session.error'],
] as const
for (const [status, last] of ends) {
  test(`a run that became ${status} while no process followed it ends properly`, async t => {
    const { fake, runtime } = await startCursorRig({
      script: () => [call('running'), { hold: true }, { silentEnd: { status, text: 'Over.' } }],
    })
    t.after(fake.stop)
    const rig = await endedUnseen(fake, runtime)
    assert.deepEqual(rig.types(), [
      'session.status_running',
      'agent.tool_use',
      'agent.message',
      'agent.tool_result',
      'agent.tool_result',
      last,
    ])
  })
}

test('a run that was deleted while no process followed it fails with that reason, and so does the next prompt', async t => {
  const { fake, runtime } = await startCursorRig({ script: () => [call('running'), { hold: true }] })
  t.after(fake.stop)
  const rig = runRig()
  const prompt = promptOf('Go')
  await rig.run(runtime, prompt, { onBatch: () => true })
  fake.account.agents.clear()
  await rig.run(runtime, prompt, { isResumed: true })
  assert.deepEqual(rig.types().slice(-2), ['agent.tool_result', 'session.error'])
  assert.match(errorOf(rig.log.at(-1)).message, /was deleted at Cursor/)
  await rig.run(runtime, promptOf('Again'))
  assert.match(errorOf(rig.log.at(-1)).message, /the agent of this session was deleted at Cursor/)
  assert.equal(fake.account.agents.size, 0)
})
