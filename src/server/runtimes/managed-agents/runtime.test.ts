import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertOnce,
  assertSound,
  managedAgentsStage,
  story,
} from '../../../../test/support/managed-agents/managed-agents-stage.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { promptOf } from '../../../../test/support/sessions/run-rig.ts'
import type { NewEvent } from '../../../contract/events.ts'

const withTools = () =>
  [
    { use: 'bash', input: { command: 'ls' }, result: 'a.txt' },
    { use: 'search', mcp: 'wiki', result: 'found' },
    { say: 'One file.', pieces: ['One ', 'file.'] },
  ] as const

test('a first prompt creates agent, environment and session, and its events have our own ids', async t => {
  const { fake, runtime, rig } = await managedAgentsStage(t, {
    script: withTools,
    memories: 'You remember: tea.',
    session: {
      agent_id: 'agent_1',
      system: 'Be brief.',
      timezone: 'Asia/Kathmandu',
      environment: { repository: 'https://github.com/o/r', ref: 'dev' },
      tools: [{ type: 'agent_toolset_20260401' }, { type: 'bash' }],
    },
  })
  await rig.run(runtime, promptOf('List', { model: 'claude-fake-1' }))

  assert.deepEqual(story(rig.log), [
    'running',
    'uses bash',
    'result a.txt',
    'uses search',
    'result found',
    'says One file.',
    'idle end_turn',
  ])
  assertSound(rig.log)
  assertOnce(fake)
  const [agent] = fake.agents.values()
  assert.equal(agent?.['system'], "Be brief.\n\nThe user's time zone is Asia/Kathmandu.\n\nYou remember: tea.")
  assert.deepEqual(agent?.['model'], { id: 'claude-fake-1' })
  assert.deepEqual(agent?.['tools'], [{ type: 'agent_toolset_20260401' }])
  assert.deepEqual([...fake.environments.values()][0]?.['config'], {
    type: 'cloud',
    networking: { type: 'unrestricted' },
  })
  assert.deepEqual(fake.session.body['resources'], [
    { type: 'github_repository', url: 'https://github.com/o/r', checkout: { type: 'branch', name: 'dev' } },
  ])

  const { runtime_agent_ref_id, provider_session_id, provider_run_id, runtime_state } = rig.refs
  assert.equal(runtime_agent_ref_id, agent?.['id'])
  assert.equal(provider_session_id, fake.session.id)
  assert.equal(runtime_state['environment_id'], [...fake.environments.keys()][0])
  const upstream = new Map(fake.session.events.map(event => [event.id, event.type]))
  assert.equal(upstream.get(provider_run_id ?? ''), 'user.message')
  for (const event of rig.log.slice(2)) {
    assert.match(event.id, /^evt_/)
    assert.equal(upstream.get(String(event.source_event_id)), event.type)
  }
  const [use, result] = rig.log.filter(({ type }) => type.startsWith('agent.tool'))
  assert.equal(use?.tool_use_id, use?.source_event_id)
  assert.equal(result?.tool_use_id, use?.tool_use_id)
  const [start, end] = rig.log.filter(({ type }) => type.startsWith('span.'))
  assert.equal(end?.model_request_start_id, start?.id)
  const counts = { input_tokens: 10, output_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
  assert.deepEqual(end?.model_usage, counts)
})

test('every call carries the key, the version and the beta header', async t => {
  const { fake, runtime, rig } = await managedAgentsStage(t)
  await rig.run(runtime, promptOf('Hi'))
  assert.ok(fake.requests.length >= 6)
  for (const { headers } of fake.requests) {
    assert.equal(headers['x-api-key'], fake.apiKey)
    assert.equal(headers['anthropic-version'], '2023-06-01')
    assert.equal(headers['anthropic-beta'], 'managed-agents-2026-04-01')
  }
})

test('text is previewed with the id of the later message', async t => {
  const { runtime, rig } = await managedAgentsStage(t, { script: withTools })
  await rig.run(runtime, promptOf('List'))
  const message = rig.log.find(({ type }) => type === 'agent.message')
  assert.deepEqual(rig.previews, [
    { eventId: message?.id, text: 'One ' },
    { eventId: message?.id, text: 'file.' },
  ])
})

test('a follow-up uses the same session and does not log the previous turn again', async t => {
  const script = (text: string) => [{ say: `You said ${text}` }]
  const { fake, runtime, rig } = await managedAgentsStage(t, { script })
  await rig.run(runtime, promptOf('one'))
  await rig.run(runtime, promptOf('two', { model: 'another', system: 'Be terse.' }))
  const two = 'Instructions for this message:\nBe terse.\ntwo'
  assert.deepEqual(story(rig.log), [
    'running',
    'says You said one',
    'idle end_turn',
    'running',
    `says You said ${two}`,
    'idle end_turn',
  ])
  assertSound(rig.log)
  assertOnce(fake, 2)
})

test('a tool call that asks waits for a person: it runs if allowed, and gets the reason if denied', async t => {
  const script = () =>
    [
      { use: 'bash', result: 'done', ask: true },
      { use: 'write', result: 'never', ask: true },
    ] as const
  const { fake, runtime, rig } = await managedAgentsStage(t, { script })
  const asked: string[] = []
  await rig.run(runtime, promptOf('Go'), {
    decide: async id => {
      asked.push(id)
      return asked.length === 1 ? { result: 'allow', message: undefined } : { result: 'deny', message: 'not here' }
    },
  })
  assert.deepEqual(story(rig.log), [
    'running',
    'uses bash',
    'idle requires_action',
    'running',
    'result done',
    'uses write',
    'idle requires_action',
    'running',
    'error denied: not here',
    'idle end_turn',
  ])
  const uses = rig.log.filter(({ type }) => type === 'agent.tool_use')
  assert.deepEqual(
    asked,
    uses.map(({ id }) => id),
  )
  assert.ok(uses.every(use => use.evaluated_permission === 'ask'))
  const questions = rig.log.filter(event => JSON.stringify(event).includes('requires_action'))
  assert.deepEqual(
    questions.map(event => event.stop_reason),
    asked.map(id => ({ type: 'requires_action', event_ids: [id] })),
  )
  assertSound(rig.log)
  assertOnce(fake)
})

test('several calls that ask at once are answered together, each one once', async t => {
  const { fake, runtime, rig } = await managedAgentsStage(t, { script: () => [{ askAll: ['a', 'b', 'c'] }] })
  await rig.run(runtime, promptOf('Go'), { decide: async () => ({ result: 'allow', message: undefined }) })
  assert.deepEqual(story(rig.log).slice(4, 6), ['idle requires_action', 'running'])
  const confirmations = fake.session.events.filter(({ type }) => type === 'user.tool_confirmation')
  assert.equal(confirmations.length, 3)
  assertSound(rig.log)
})

test('a run that ends while a person is asked logs nothing more, and resumes with the answer later', async t => {
  const { fake, runtime, rig } = await managedAgentsStage(t, {
    script: () => [{ use: 'bash', result: 'done', ask: true }],
  })
  const prompt = promptOf('Go')
  await rig.run(runtime, prompt, { decide: async () => undefined })
  assert.deepEqual(story(rig.log), ['running', 'uses bash', 'idle requires_action'])
  await rig.run(runtime, prompt, { isResumed: true, decide: async () => ({ result: 'allow', message: undefined }) })
  assert.deepEqual(story(rig.log).slice(3), ['running', 'result done', 'idle end_turn'])
  assertSound(rig.log)
  assertOnce(fake)
})

test('a call of a client-side tool is rejected, and the turn continues', async t => {
  const { runtime, rig } = await managedAgentsStage(t, { script: () => [{ custom: 'ring_bell' }] })
  await rig.run(runtime, promptOf('Ring'))
  const refused = 'says no client is connected that can run this tool'
  assert.deepEqual(story(rig.log), ['running', 'agent.custom_tool_use', refused, 'idle end_turn'])
})

test('an interrupt stops the turn at the provider, and open tool calls get an error result', async t => {
  const hold = { use: 'bash', result: 'never', ask: false } as const
  const { fake, runtime, rig } = await managedAgentsStage(t, {
    script: text =>
      text === 'Go' ? [{ raw: { type: 'agent.tool_use', name: 'bash', input: {} } }, { hang: true }] : [hold],
  })
  const stop = new AbortController()
  const onBatch = (events: readonly NewEvent[]) => {
    if (events.some(({ type }) => type === 'agent.tool_use')) stop.abort()
    return undefined
  }
  await rig.run(runtime, promptOf('Go'), { signal: stop.signal, onBatch })
  assert.deepEqual(story(rig.log), ['running', 'uses bash', 'error interrupted: the call has no result'])
  assert.equal(fake.session.interrupts, 1)
  await eventually(() => fake.session.status === 'idle')

  await rig.run(runtime, promptOf('Again'))
  assert.deepEqual(story(rig.log).slice(3), ['running', 'uses bash', 'result never', 'idle end_turn'])
  assertSound(rig.log)
  assertOnce(fake, 2)
})

test('a draining process does not stop the turn', async t => {
  const { fake, runtime, rig } = await managedAgentsStage(t, {
    script: () => [{ raw: { type: 'agent.tool_use', name: 'bash', input: {} } }, { hang: true }],
  })
  const stop = new AbortController()
  let isDraining = false
  await rig.run(runtime, promptOf('Go'), {
    signal: stop.signal,
    isDraining: () => isDraining,
    onBatch: () => {
      isDraining = true
      stop.abort()
      return undefined
    },
  })
  assert.deepEqual(story(rig.log).at(-1), 'uses bash')
  assert.equal(fake.session.interrupts, 0)
})

test('a prompt waits for the end of an earlier, interrupted turn, and is not ended by it', async t => {
  const { fake, runtime, rig } = await managedAgentsStage(t, {
    script: text => (text === 'first' ? [{ hang: true }] : [{ say: 'Second.' }]),
  })
  let isDraining = false
  await rig.run(runtime, promptOf('first'), {
    isDraining: () => isDraining,
    onRemember: ({ provider_run_id }) => {
      isDraining ||= typeof provider_run_id === 'string'
    },
  })
  await eventually(() => fake.session.status === 'running')
  await rig.run(runtime, promptOf('second'))
  assert.equal(fake.session.interrupts, 1)
  assert.deepEqual(story(rig.log), ['running', 'running', 'says Second.', 'idle end_turn'])
})

test('an idle from before the message was processed does not end its run', async t => {
  const { fake, runtime, rig } = await managedAgentsStage(t, {
    switches: { staleIdle: true },
    script: text => [{ say: `You said ${text}` }],
  })
  await rig.run(runtime, promptOf('one'))
  await rig.run(runtime, promptOf('two'))
  const turn = (text: string) => ['running', `says You said ${text}`, 'idle end_turn']
  assert.deepEqual(story(rig.log), [...turn('one'), ...turn('two')])
  assertSound(rig.log)
  assertOnce(fake, 2)
})
