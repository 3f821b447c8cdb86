import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { eventually } from '../../../../test/support/eventually.ts'
import { startOpencodeFake } from '../../../../test/support/opencode-fake.ts'
import { opencodeRig } from '../../../../test/support/opencode-rig.ts'
import type { FakeStep } from '../../../../test/support/opencode-turn.ts'
import { promptOf, runRig } from '../../../../test/support/run-rig.ts'
import { endsRun } from '../../../contract/events.ts'
import type { Runtime } from '../runtime.ts'

const work: readonly FakeStep[] = [
  { thinking: 'Hm.', text: ['I run it.'], tools: [{ name: 'bash', input: { command: 'ls' }, asks: ['bash'] }] },
  { text: ['Done.'] },
]

const held: readonly FakeStep[] = [{ text: ['One.'] }, { text: ['Two.'], hold: 'before' }]

const allow = async () => ({ result: 'allow', message: undefined }) as const

async function started(steps: readonly FakeStep[], options: Partial<Parameters<typeof startOpencodeFake>[0]> = {}) {
  const fake = await startOpencodeFake({ turns: [steps, [{ text: ['Later.'] }]], ...options })
  after(() => fake.stop())
  return { fake, ...opencodeRig(fake) }
}

/** What the log tells, without the ids. */
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
  (rig.log.at(-1)?.['error'] ?? { message: `no error: ${rig.log.at(-1)?.type}` }) as { message: string }

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

test('a run that is cut off after any batch tells the same as one that is not, with one prompt', async () => {
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

test('a run that is cut off after anything that it remembers tells the same, with one prompt', async () => {
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

test('a prompt that was taken without an answer is not sent again', async () => {
  const { fake, runtime } = await started([{ text: ['Done.'] }])
  fake.switches.losesAnswer = true
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'))
  assert.equal(fake.prompts().length, 1)
  assert.equal(rig.log.at(-1)?.type, 'session.status_idle')
})

test('the same words twice are two prompts, also when the second is cut off before it was sent', async () => {
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

test('a question that was open when the run was cut off is asked once, and its answer is handed on', async () => {
  for (const older of [false, true]) {
    const steps = [
      { text: ['May I?'], tools: [{ name: 'bash', input: {}, asks: ['bash'], older }] },
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
    assert.equal(rig.log.at(-1)?.['stop_details'], null)
  }
})

test('an answer that could not be handed on is handed on once the server is back', async () => {
  const { fake, runtime } = await started(work)
  const rig = runRig()
  const decide = async () => {
    fake.switches.isDown = true
    return allow()
  }
  const run = rig.run(runtime, promptOf('Go'), { decide })
  await eventually(() => fake.refusals() > 0)
  fake.switches.isDown = false
  await run
  assert.deepEqual(told(rig), await whole())
})

test('an answer that somebody gives at the runtime is as good as one of ours', async () => {
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

test('what happens while the stream is gone is not lost, and is told as soon as it is back', async () => {
  const { fake } = await started(held)
  // The silence after which it looks by itself would be longer than the test waits.
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

test('a stream that stays open and says nothing does not hang the run', async () => {
  const { fake, runtime } = await started(held)
  const { rig, run } = await heldRun(fake, runtime)
  fake.switches.isSilent = true
  fake.release()
  await run
  assert.equal(rig.types().filter(type => type === 'agent.message').length, 2)
  assert.equal(rig.types().at(-1), 'session.status_idle')
})

test('a question that nobody heard is found and asked', async () => {
  const { fake, runtime } = await started(work)
  fake.switches.isSilent = true
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'), { decide: allow })
  assert.equal(rig.types().at(-1), 'session.status_idle')
  assert.equal(rig.types().filter(type => type === 'agent.tool_result').length, 1)
})

test('frames that are no events change nothing', async () => {
  const { fake, runtime } = await started(work)
  fake.switches.isGarbled = true
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'), { decide: allow })
  assert.deepEqual(told(rig), await whole())
})

test('an event of 10 MB is told, cut to a readable size', async () => {
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

test('a server that is down ends the run at once, and says so', async () => {
  const { fake, runtime } = await started(held)
  await fake.stop()
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'))
  assert.match(errorOf(rig).message, /connection to the runtime failed \(ECONNREFUSED\)/)
})

test('a server that is no opencode server ends the run, and says so', async () => {
  const { fake, runtime, kind, endpoint } = await started(held)
  fake.switches.isPage = true
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'))
  assert.match(errorOf(rig).message, /not JSON/)
  await assert.rejects(kind.check(endpoint, AbortSignal.timeout(5_000)), /not JSON/)
})

test('a server that is away for a moment does not end the run', async () => {
  const { fake, runtime } = await started(held)
  const { rig, run } = await heldRun(fake, runtime)
  fake.switches.isDown = true
  fake.dropStreams()
  fake.release()
  await eventually(() => fake.refusals() >= 2)
  fake.switches.isDown = false
  await run
  assert.equal(rig.types().at(-1), 'session.status_idle')
  assert.equal(fake.prompts().length, 1)
})

test('a server that stays away ends the run', async () => {
  const { fake, runtime } = await started(held)
  const { rig, run } = await heldRun(fake, runtime)
  fake.switches.isDown = true
  fake.dropStreams()
  await run
  assert.match(errorOf(rig).message, /connection to the runtime failed/)
})

test('a server that was started anew has lost the run, which ends; its tool call gets a result', async () => {
  const { fake, runtime } = await started([{ tools: [{ name: 'bash', input: { command: 'ls' } }], hold: 'in tool' }])
  const { rig, run } = await heldRun(fake, runtime)
  fake.restart()
  await run
  assert.match(errorOf(rig).message, /stopped without an answer/)
  assert.equal(rig.types().filter(type => type === 'agent.tool_result').length, 1)
  assert.equal(fake.prompts().length, 1)
})

test('a session that is gone at the runtime ends the run, and says so', async () => {
  const { fake, runtime } = await started(held)
  const { rig, run } = await heldRun(fake, runtime)
  fake.sessions.clear()
  fake.dropStreams()
  await run
  assert.match(errorOf(rig).message, /refused the call \(404\): Session not found/)
})
