import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Switches } from '../../../../test/support/managed-agents/managed-agents-fake-script.ts'
import {
  assertOnce,
  assertSound,
  type Death,
  managedAgentsStage,
  mortal,
  story,
  untilCrash,
} from '../../../../test/support/managed-agents/managed-agents-stage.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { promptOf } from '../../../../test/support/sessions/run-rig.ts'

const never = Number.POSITIVE_INFINITY
const allow = async () => ({ result: 'allow', message: undefined }) as const

const script = () =>
  [
    { say: 'I look.', pieces: ['I ', 'look.'] },
    { use: 'bash', result: 'a.txt' },
    { use: 'write', result: 'written', ask: true },
    { use: 'edit', result: 'edited', ask: true },
    { say: 'Done.' },
  ] as const

/** Runs a second prompt that crashes once and resumes; the first one succeeded. */
async function secondPrompt(t: TestContext, switches: Partial<Switches>, death: Death) {
  const stage = await managedAgentsStage(t, { script, switches, pageSize: 4 })
  const { rig, runtime } = stage
  await rig.run(runtime, promptOf('Go'), { decide: allow })
  const prompt = promptOf('Go')
  const process = mortal(runtime, death)
  const run = rig.run(process, prompt, { decide: allow })
  if (death.at === never) await run
  else {
    await untilCrash(run)
    await rig.run(runtime, prompt, { decide: allow, isResumed: true })
  }
  return { ...stage, writes: process.writes }
}

const variants: readonly Partial<Switches>[] = [{}, { closeAtIdle: true, bareFrames: true }, { staleIdle: true }]

for (const switches of variants) {
  const name = Object.keys(switches).join(', ') || 'a server as Anthropic runs it'
  test(`${name}: a crash at any write leaves one message, and the same log as without a crash`, async t => {
    const whole = await secondPrompt(t, switches, { at: never, when: 'before' })
    const expected = story(whole.rig.log)
    assert.equal(expected.filter(told => told === 'says Done.').length, 2)
    for (let at = 1; at <= whole.writes; at++) {
      for (const when of ['before', 'after'] as const) {
        // After its last write a run is over.
        if (when === 'after' && at === whole.writes) continue
        const { fake, rig } = await secondPrompt(t, switches, { at, when })
        assert.deepEqual(story(rig.log), expected, `${when} write ${at}`)
        assertSound(rig.log)
        assertOnce(fake, 2)
        const confirmations = fake.session.events.filter(({ type }) => type === 'user.tool_confirmation')
        assert.equal(confirmations.length, 4, `${when} write ${at}`)
      }
    }
  })
}

test('a crash during the creation of agent, environment and session leaves no duplicate in use', async t => {
  for (const at of [1, 2, 3, 4, 5]) {
    for (const when of ['before', 'after'] as const) {
      const { fake, rig, runtime } = await managedAgentsStage(t)
      const prompt = promptOf('Hi')
      await untilCrash(rig.run(mortal(runtime, { at, when }), prompt))
      await rig.run(runtime, prompt, { isResumed: true })
      assert.deepEqual(story(rig.log), ['running', 'says Hello', 'idle end_turn'])
      const made = [fake.agents.size, fake.environments.size, fake.sessions.size]
      const doubled = when === 'before' && at <= 3 ? at - 1 : undefined
      assert.deepEqual(
        made,
        [0, 1, 2].map(index => (index === doubled ? 2 : 1)),
        `${when} write ${at}`,
      )
      const used = fake.sessions.get(rig.refs.provider_session_id ?? '')
      assert.equal(used?.body['agent'], rig.refs.runtime_agent_ref_id)
      assert.deepEqual(
        [...fake.sessions.values()].map(({ messages }) => messages).toSorted(),
        made[2] === 2 ? [0, 1] : [1],
      )
    }
  }
})

test('a message whose response was lost is found in the list and not sent again', async t => {
  const { fake, rig, runtime } = await managedAgentsStage(t)
  await rig.run(runtime, promptOf('Hi'))
  let lost = 0
  fake.state.fault = ({ method, path }) =>
    method === 'POST' && path.endsWith('/events') && lost++ === 0 ? 'lost after' : undefined
  await rig.run(runtime, promptOf('Hi'))
  assert.deepEqual(story(rig.log).slice(3), ['running', 'says Hello', 'idle end_turn'])
  assertSound(rig.log)
  assertOnce(fake, 2)
})

test('a message that did not arrive is sent again', async t => {
  const { fake, rig, runtime } = await managedAgentsStage(t)
  let lost = 0
  fake.state.fault = ({ method, path }) =>
    method === 'POST' && path.endsWith('/events') && lost++ < 2 ? 'lost before' : undefined
  await rig.run(runtime, promptOf('Hi'))
  assert.deepEqual(story(rig.log), ['running', 'says Hello', 'idle end_turn'])
  assertOnce(fake)
})

test('an approval whose response was lost is not sent twice', async t => {
  const gate = Promise.withResolvers<void>()
  const { fake, rig, runtime } = await managedAgentsStage(t, {
    script: () => [{ use: 'bash', result: 'done', ask: true }, { until: gate.promise }, { say: 'Done.' }],
  })
  let sends = 0
  fake.state.fault = ({ method, path }) =>
    method === 'POST' && path.endsWith('/events') && ++sends === 2 ? 'lost after' : undefined
  const run = rig.run(runtime, promptOf('Go'), { decide: allow })
  // The list shows that the answer arrived, so it is not sent again.
  await eventually(() => story(rig.log).includes('result done'))
  await eventually(() => fake.session.readers > 0)
  gate.resolve()
  await run
  assert.deepEqual(story(rig.log), [
    'running',
    'uses bash',
    'idle requires_action',
    'running',
    'result done',
    'says Done.',
    'idle end_turn',
  ])
  assert.equal(fake.session.events.filter(({ type }) => type === 'user.tool_confirmation').length, 1)
  assertSound(rig.log)
})

test('a message in the provider’s queue is not sent again after a crash', async t => {
  const { fake, rig, runtime } = await managedAgentsStage(t)
  await rig.run(runtime, promptOf('Hi'))
  const gate = Promise.withResolvers<void>()
  fake.switches.hold = gate.promise
  const prompt = promptOf('Hi')
  await untilCrash(rig.run(mortal(runtime, { at: 2, when: 'before' }), prompt))
  const opened = fake.requestsTo('GET', '/events').length
  const run = rig.run(runtime, prompt, { isResumed: true })
  await eventually(() => fake.requestsTo('GET', '/events').length > opened)
  await eventually(() => rig.refs.provider_run_id !== null)
  gate.resolve()
  await run
  assert.deepEqual(story(rig.log).slice(3), ['running', 'says Hello', 'idle end_turn'])
  assertOnce(fake, 2)
})

test('a run that is stopped before it resumes is stopped at the provider too', async t => {
  const { fake, rig, runtime } = await managedAgentsStage(t, {
    script: () => [{ raw: { type: 'agent.tool_use', name: 'bash', input: {} } }, { hang: true }],
  })
  const prompt = promptOf('Go')
  await rig.run(runtime, prompt, { onBatch: () => true })
  await rig.run(runtime, prompt, { isResumed: true, signal: AbortSignal.abort() })
  assert.equal(fake.session.interrupts, 1)
  assert.deepEqual(story(rig.log), ['running', 'uses bash', 'error interrupted: the call has no result'])
})

test('a process that lost the session does not stop the turn that another owner follows', async t => {
  const { fake, rig, runtime } = await managedAgentsStage(t, {
    script: () => [{ raw: { type: 'agent.tool_use', name: 'bash', input: {} } }, { hang: true }],
  })
  const lost = new AbortController()
  const run = rig.run(runtime, promptOf('Go'), {
    signal: lost.signal,
    onBatch: () => void lost.abort(),
    onRemember: () => {
      if (lost.signal.aborted) throw new Error('another owner has it')
    },
  })
  await assert.rejects(run, /another owner/)
  assert.equal(fake.session.interrupts, 0)
})
