import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startOpencodeFake } from '../../../../test/support/opencode/opencode-fake.ts'
import { opencodeRig } from '../../../../test/support/opencode/opencode-rig.ts'
import type { FakeStep } from '../../../../test/support/opencode/opencode-turn.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { promptOf, runRig } from '../../../../test/support/sessions/run-rig.ts'
import { endsRun } from '../../../contract/events.ts'
import type { Runtime } from '../runtime.ts'

const work: readonly FakeStep[] = [
  { thinking: 'Hm.', text: ['I run it.'], tools: [{ name: 'bash', input: { command: 'ls' }, permissions: ['bash'] }] },
  { text: ['Done.'] },
]

const held: readonly FakeStep[] = [{ text: ['One.'] }, { text: ['Two.'], hold: 'before' }]

const allow = async () => ({ result: 'allow', message: undefined }) as const

async function started(steps: readonly FakeStep[], options: Partial<Parameters<typeof startOpencodeFake>[0]> = {}) {
  const fake = await startOpencodeFake({ turns: [steps, [{ text: ['Later.'] }]], ...options })
  after(() => fake.stop())
  return { fake, ...opencodeRig(fake) }
}

/** The log without ids. */
const told = (rig: ReturnType<typeof runRig>) =>
  rig.log
    .slice(2)
    .map(({ type, content, name, is_error, usage }) => JSON.stringify([type, content, name, is_error, usage]))

async function whole() {
  const { runtime } = await started(work)
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'), { decide: allow })
  return told(rig)
}

const errorOf = (rig: ReturnType<typeof runRig>) =>
  (rig.log.at(-1)?.error ?? { message: `no error: ${rig.log.at(-1)?.type}` }) as { message: string }

class Crash extends Error {}

/** A run whose turn waits at a `hold` of the fake. */
async function heldRun(
  fake: Pick<Awaited<ReturnType<typeof startOpencodeFake>>, 'held'>,
  runtime: Pick<Runtime, 'run'>,
) {
  const rig = runRig()
  const run = rig.run(runtime, promptOf('Go'))
  await eventually(() => fake.held() > 0)
  return { rig, run }
}

test('a run that is interrupted after any batch has the same log as one that is not, with one prompt', async () => {
  const expected = await whole()
  for (let cut = 1; cut <= expected.length; cut++) {
    const { fake, runtime } = await started(work)
    const rig = runRig()
    const prompt = promptOf('Go')
    let batches = 0
    const onBatch = () => ++batches >= cut
    await rig.run(runtime, prompt, { decide: allow, onBatch })
    if (!rig.log.some(endsRun)) await rig.run(runtime, prompt, { decide: allow, isResumed: true })
    assert.deepEqual(told(rig), expected, `cut after batch ${cut}`)
    assert.equal(fake.prompts().length, 1)
  }
})

test('a run that is interrupted after any stored state has the same log, with one prompt', async () => {
  const expected = await whole()
  for (let cut = 1; cut <= 2; cut++) {
    const { fake, runtime } = await started(work)
    const rig = runRig()
    const prompt = promptOf('Go')
    let remembered = 0
    const onRemember = () => {
      if (++remembered === cut) throw new Crash()
    }
    await assert.rejects(rig.run(runtime, prompt, { decide: allow, onRemember }), Crash)
    await rig.run(runtime, prompt, { decide: allow, isResumed: true })
    assert.deepEqual(told(rig), expected, `cut after the remembrance ${cut}`)
    assert.equal(fake.prompts().length, 1)
    assert.equal(fake.sessions.size, 1)
  }
})

test('a prompt that was accepted without a response is not sent again', async () => {
  const { fake, runtime } = await started([{ text: ['Done.'] }])
  fake.switches.losesAnswer = true
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'))
  assert.equal(fake.prompts().length, 1)
  assert.equal(rig.log.at(-1)?.type, 'session.status_idle')
})

test('the same text twice is two prompts, also when the second is interrupted before it is sent', async () => {
  const { fake, runtime } = await started([{ text: ['First.'] }])
  const rig = runRig()
  await rig.run(runtime, promptOf('Go on'))
  const second = promptOf('Go on')
  const onRemember = () => {
    throw new Crash()
  }
  await assert.rejects(rig.run(runtime, second, { onRemember }), Crash)
  await rig.run(runtime, second, { isResumed: true })
  assert.equal(fake.prompts().length, 2)
  assert.match(told(rig).at(-3) ?? '', /Later/)
})

test('a question that was open when the run was interrupted is asked once, and its decision is sent', async () => {
  for (const older of [false, true]) {
    const steps = [
      { text: ['May I?'], tools: [{ name: 'bash', input: {}, permissions: ['bash'], older }] },
      { text: ['Done.'] },
    ]
    const { fake, runtime } = await started(steps, { isOlder: older })
    const rig = runRig()
    const prompt = promptOf('Go')
    await rig.run(runtime, prompt, { decide: async () => undefined })
    assert.equal(fake.waiting.size, 1)
    const asked: string[] = []
    const decide = async (id: string) => {
      asked.push(id)
      return allow()
    }
    await rig.run(runtime, prompt, { isResumed: true, decide })
    assert.equal(asked.length, 1)
    const stops = rig.log.filter(({ type }) => type === 'session.status_idle')
    assert.equal(stops.length, 2, 'one question, one end')
    assert.equal(rig.log.at(-1)?.stop_details, null)
  }
})

test('a decision that could not be sent is sent once the server is reachable again', async () => {
  const { fake, runtime } = await started(work)
  const rig = runRig()
  const decide = async () => {
    fake.switches.isDown = true
    return allow()
  }
  const run = rig.run(runtime, promptOf('Go'), { decide })
  await eventually(() => fake.rejections() > 0)
  fake.switches.isDown = false
  await run
  assert.deepEqual(told(rig), await whole())
})

test('a decision that is made at the runtime counts like one of ours', async () => {
  const { fake, runtime } = await started(work)
  const rig = runRig()
  const decide = () => new Promise<undefined>(() => undefined)
  const run = rig.run(runtime, promptOf('Go'), { decide })
  const [id] = await eventually(() => fake.waiting.size > 0 && [...fake.waiting.keys()])
  await fetch(`${fake.url}/permission/${id}/reply`, { method: 'POST', body: '{"reply":"once"}' })
  await run
  assert.equal(rig.types().at(-1), 'session.status_idle')
  assert.equal(rig.types().filter(type => type === 'session.status_running').length, 2)
})

test('events while the stream is disconnected are logged as soon as it reconnects', async () => {
  const { fake } = await started(held)
  // The silence after which the list is polled is longer than the timeout of the test.
  const { runtime } = opencodeRig(fake, { haste: 1 })
  const { rig, run } = await heldRun(fake, runtime)
  fake.dropStreams()
  fake.release()
  await eventually(() => rig.types().at(-1) === 'session.status_idle')
  await run
  assert.deepEqual(rig.types().slice(1), [
    'agent.message',
    'session.usage',
    'agent.message',
    'session.usage',
    'session.status_idle',
  ])
  assert.equal(fake.prompts().length, 1)
})

test('a stream that stays open without events does not block the run', async () => {
  const { fake, runtime } = await started(held)
  const { rig, run } = await heldRun(fake, runtime)
  fake.switches.isSilent = true
  fake.release()
  await run
  assert.equal(rig.types().filter(type => type === 'agent.message').length, 2)
  assert.equal(rig.types().at(-1), 'session.status_idle')
})

test('a question that was missed on the stream is found and asked', async () => {
  const { fake, runtime } = await started(work)
  fake.switches.isSilent = true
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'), { decide: allow })
  assert.equal(rig.types().at(-1), 'session.status_idle')
  assert.equal(rig.types().filter(type => type === 'agent.tool_result').length, 1)
})

test('frames that are not events are ignored', async () => {
  const { fake, runtime } = await started(work)
  fake.switches.isGarbled = true
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'), { decide: allow })
  assert.deepEqual(told(rig), await whole())
})

test('an event of 10 MB is logged, shortened to a readable size', async () => {
  const output = 'x'.repeat(10 * 1024 * 1024)
  const { runtime } = await started([{ tools: [{ name: 'bash', input: { command: 'yes' }, output }] }])
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'))
  assert.ok(JSON.stringify(rig.log).length < 300_000)
  assert.equal(rig.types().at(-1), 'session.status_idle')
})

test('an event of 20 MB is read from the list', async () => {
  const output = 'x'.repeat(20 * 1024 * 1024)
  const { runtime } = await started([{ tools: [{ name: 'bash', input: { command: 'yes' }, output }] }])
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'))
  assert.equal(rig.types().filter(type => type === 'agent.tool_result').length, 1)
  assert.equal(rig.types().at(-1), 'session.status_idle')
})

test('an unreachable server fails the run at once with that reason', async () => {
  const { fake, runtime } = await started(held)
  await fake.stop()
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'))
  assert.match(errorOf(rig).message, /connection to the runtime failed \(ECONNREFUSED\)/)
})

test('a server that is not an opencode server fails the run with that reason', async () => {
  const { fake, runtime, kind, endpoint } = await started(held)
  fake.switches.isPage = true
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'))
  assert.match(errorOf(rig).message, /not JSON/)
  await assert.rejects(kind.check(endpoint, AbortSignal.timeout(5_000)), /not JSON/)
})

test('a short outage of the server does not end the run', async () => {
  const { fake, runtime } = await started(held)
  const { rig, run } = await heldRun(fake, runtime)
  fake.switches.isDown = true
  fake.dropStreams()
  fake.release()
  await eventually(() => fake.rejections() >= 2)
  fake.switches.isDown = false
  await run
  assert.equal(rig.types().at(-1), 'session.status_idle')
  assert.equal(fake.prompts().length, 1)
})

test('a long outage of the server fails the run', async () => {
  const { fake, runtime } = await started(held)
  const { rig, run } = await heldRun(fake, runtime)
  fake.switches.isDown = true
  fake.dropStreams()
  await run
  assert.match(errorOf(rig).message, /connection to the runtime failed/)
})

test('a restart of the server ends the run, and its tool call gets a result', async () => {
  const { fake, runtime } = await started([{ tools: [{ name: 'bash', input: { command: 'ls' } }], hold: 'in tool' }])
  const { rig, run } = await heldRun(fake, runtime)
  fake.restart()
  await run
  assert.match(errorOf(rig).message, /stopped without answering/)
  assert.equal(rig.types().filter(type => type === 'agent.tool_result').length, 1)
  assert.equal(fake.prompts().length, 1)
})

test('a session that was deleted at the runtime fails the run with that reason', async () => {
  const { fake, runtime } = await started(held)
  const { rig, run } = await heldRun(fake, runtime)
  fake.sessions.clear()
  fake.dropStreams()
  await run
  assert.match(errorOf(rig).message, /rejected the request \(404\): Session not found/)
})
