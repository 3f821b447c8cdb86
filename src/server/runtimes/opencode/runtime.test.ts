import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startOpencodeFake } from '../../../../test/support/opencode/opencode-fake.ts'
import { opencodeRig } from '../../../../test/support/opencode/opencode-rig.ts'
import type { FakeStep } from '../../../../test/support/opencode/opencode-turn.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { textsOf } from '../../../../test/support/sessions/event-text.ts'
import { promptOf, runRig, sessionWith } from '../../../../test/support/sessions/run-rig.ts'
import type { NewEvent } from '../../../contract/events.ts'

const work: readonly FakeStep[] = [
  {
    thinking: 'A file is missing.',
    text: ['I wri', 'te it.'],
    tools: [{ name: 'write', input: { filePath: 'a.txt' }, output: 'Wrote file successfully.' }],
    cost: 0.25,
  },
  { text: ['Done.'], cost: 0.5 },
]

async function started(
  turns: readonly (readonly FakeStep[])[],
  options: Partial<Parameters<typeof startOpencodeFake>[0]> = {},
) {
  const fake = await startOpencodeFake({ turns, ...options })
  after(() => fake.stop())
  const { runtime } = opencodeRig(fake, options.password === undefined ? {} : { apiKey: options.password })
  return { fake, runtime }
}

const whole = [
  'session.status_running',
  'agent.thinking',
  'agent.message',
  'agent.tool_use',
  'agent.tool_result',
  'session.usage',
  'agent.message',
  'session.usage',
  'session.status_idle',
]

const lastOf = (log: readonly NewEvent[]) => log.at(-1) ?? assert.fail('no event')

const errorOf = ({ error }: NewEvent) => error ?? assert.fail('no error')

/** Checks that every tool call has one result, and the run one end. */
function mustBeSettled(log: readonly NewEvent[]): void {
  const ids = (type: string) => log.filter(event => event.type === type).map(event => event.tool_use_id)
  assert.deepEqual(ids('agent.tool_result').toSorted(), ids('agent.tool_use').toSorted())
}

test('a run logs thinking, text, tool calls with their results, usage and cost as they occur', async () => {
  const { fake, runtime } = await started([work])
  const rig = runRig()
  await rig.run(runtime, promptOf('Write it.'))
  assert.deepEqual(rig.types(), whole)
  assert.deepEqual(textsOf(rig.log, 'agent.message'), ['I write it.', 'Done.'])
  const use = rig.log.find(({ type }) => type === 'agent.tool_use')
  const result = rig.log.find(({ type }) => type === 'agent.tool_result')
  assert.deepEqual([use?.name, use?.input], ['write', { filePath: 'a.txt' }])
  assert.equal(result?.tool_use_id, use?.tool_use_id)
  assert.deepEqual(textsOf(rig.log, 'agent.tool_result'), ['Wrote file successfully.'])
  const usage = rig.log.findLast(({ type }) => type === 'session.usage')
  assert.equal(usage?.cost_usd, 0.75)
  assert.deepEqual(usage?.usage, {
    input_tokens: 60,
    output_tokens: 24,
    cache_creation_input_tokens: 2,
    cache_read_input_tokens: 6,
  })
  assert.deepEqual(lastOf(rig.log).stop_reason, { type: 'end_turn' })
  const [first, second] = rig.previews
  assert.deepEqual([first?.text, second?.text], ['I wri', 'te it.'])
  assert.equal(first?.eventId, rig.log.find(({ type }) => type === 'agent.message')?.id)
  assert.equal(fake.prompts().length, 1)
})

test('a remote server gets the files of a prompt as its own file parts, and the prompt is sent once', async () => {
  const { fake, runtime } = await started([work])
  const rig = runRig()
  const file = {
    type: 'file',
    name: 'a.txt',
    media_type: 'text/plain',
    size: 19,
    sha256: '0'.repeat(64),
    path: 'uploads/000000000000/a.txt',
  } as const
  const prompt = { ...promptOf('Read it.'), parts: [file, { type: 'text', text: 'Read it.' }] as const }
  await rig.run(runtime, prompt, { onBatch: () => true })
  await rig.run(runtime, prompt, { isResumed: true })
  const url = `data:text/plain;base64,${Buffer.from('content of the file').toString('base64')}`
  assert.deepEqual(
    fake.prompts().map(({ parts }) => parts),
    [
      [
        { type: 'text', text: 'Read it.' },
        { type: 'file', mime: 'text/plain', filename: 'a.txt', url },
      ],
    ],
  )
})

test('a follow-up continues in the same session, and logs only its own answer', async () => {
  const { fake, runtime } = await started([work, [{ text: ['Again.'] }]])
  const rig = runRig()
  await rig.run(runtime, promptOf('Same words'))
  await rig.run(runtime, promptOf('Same words'))
  assert.deepEqual(textsOf(rig.log, 'agent.message'), ['I write it.', 'Done.', 'Again.'])
  assert.equal(fake.sessions.size, 1)
  assert.equal(rig.refs.provider_session_id, [...fake.sessions.keys()][0])
  const usage = rig.log.findLast(({ type }) => type === 'session.usage')
  assert.deepEqual(
    usage?.usage,
    { input_tokens: 90, output_tokens: 36, cache_creation_input_tokens: 3, cache_read_input_tokens: 9 },
    'usage is that of the session',
  )
})

test('the prompt has model, system prompt and memories, and no fields that are unknown to opencode', async () => {
  const fake = await startOpencodeFake({ turns: [[{ text: ['ok'] }]] })
  after(() => fake.stop())
  const { runtime } = opencodeRig(fake, { block: 'What you remember: tea.' })
  const rig = runRig(sessionWith({ system: 'You are terse.', agent_id: 'agent_1', title: 'Tea' }))
  await rig.run(runtime, promptOf('Hi', { model: 'openrouter/meta/llama' }))
  await rig.run(runtime, promptOf('Hi', { model: 'demo', system: 'For once.' }))
  const [made] = fake.requests.filter(({ path }) => path === '/session')
  assert.deepEqual(made?.body, { title: 'Tea' })
  const parts = [{ type: 'text', text: 'Hi' }]
  assert.deepEqual(fake.prompts(), [
    {
      model: { providerID: 'openrouter', modelID: 'meta/llama' },
      system: 'You are terse.\n\nWhat you remember: tea.',
      parts,
    },
    {
      model: { providerID: 'anthropic', modelID: 'demo' },
      system: 'For once.\n\nWhat you remember: tea.',
      parts,
    },
  ])
})

const asking = (more: object = {}): readonly FakeStep[] => [
  { text: ['May I?'], tools: [{ name: 'bash', input: { command: 'ls' }, permissions: ['bash'], ...more }] },
  { text: ['Done.'] },
]

const answers = [
  ['once it is allowed', {}, { result: 'allow', message: undefined }, 'once', 'ok'],
  [
    'once it is allowed, asked in the older way',
    { older: true },
    { result: 'allow', message: undefined },
    'once',
    'ok',
  ],
  ['as a failure once it is denied', {}, { result: 'deny', message: 'not here' }, 'reject', 'not here'],
] as const

for (const [how, more, decision, reply, words] of answers) {
  test(`a tool call that asks waits for a person, and continues ${how}`, async () => {
    const { fake, runtime } = await started([asking(more)])
    const rig = runRig()
    const asked: string[] = []
    const decide = async (eventId: string) => {
      asked.push(eventId)
      assert.deepEqual(lastOf(rig.log).stop_reason, { type: 'requires_action', event_ids: [eventId] })
      return decision
    }
    await rig.run(runtime, promptOf('Go'), { decide })
    assert.deepEqual(asked, [rig.log.find(({ type }) => type === 'agent.tool_use')?.id])
    const said = fake.requests.find(({ path }) => path.includes('/permission'))
    assert.equal(said?.body['reply'] ?? said?.body['response'], reply)
    assert.match(textsOf(rig.log, 'agent.tool_result')[0] ?? '', new RegExp(words))
    assert.equal(rig.types().filter(type => type === 'session.status_running').length, 2, 'it says that work goes on')
    assert.equal(lastOf(rig.log).type, 'session.status_idle')
    mustBeSettled(rig.log)
  })
}

test('a decision about a call applies to all of its permission requests', async () => {
  const { fake, runtime } = await started([asking({ permissions: ['external_directory', 'bash'] })])
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'), { decide: async () => ({ result: 'allow', message: undefined }) })
  const stops = rig.log.filter(({ type }) => type === 'session.status_idle')
  assert.equal(stops.length, 2, 'one question, one end')
  assert.equal(fake.requests.filter(({ path }) => path.endsWith('/reply')).length, 2)
})

test('a permission request of a subagent is asked in the parent session', async () => {
  const { runtime } = await started([asking({ child: true })])
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'), { decide: async () => ({ result: 'allow', message: undefined }) })
  const uses = rig.log.filter(({ type }) => type === 'agent.tool_use')
  assert.deepEqual(
    uses.map(use => [use.name, use.evaluated_permission]),
    [
      ['bash', undefined],
      ['bash', 'ask'],
    ],
  )
  mustBeSettled(rig.log)
})

test('a question to the user is rejected at once, and the run continues', async () => {
  const { fake, runtime } = await started([[{ text: ['Which one?'], question: true }]])
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'))
  assert.equal(fake.requests.filter(({ path }) => path.endsWith('/reject')).length, 1)
  assert.equal(lastOf(rig.log).type, 'session.status_idle')
})

test('stopping a run stops the runtime, and gives an interrupted tool call its result', async () => {
  const { fake, runtime } = await started([
    [{ text: ['I run it.'], tools: [{ name: 'bash', input: {} }], hold: 'in tool' }],
    [{ text: ['Next.'] }],
  ])
  const rig = runRig()
  const stop = new AbortController()
  const onBatch = (events: readonly NewEvent[]) => {
    if (events.some(({ type }) => type === 'agent.tool_use')) stop.abort()
    return undefined
  }
  await rig.run(runtime, promptOf('Go'), { signal: stop.signal, onBatch })
  assert.ok(fake.requests.some(({ path }) => path === `/session/${rig.refs.provider_session_id}/abort`))
  assert.equal(lastOf(rig.log).is_error, true)
  mustBeSettled(rig.log)
  await rig.run(runtime, promptOf('Next'))
  assert.deepEqual(textsOf(rig.log, 'agent.message'), ['I run it.', 'Next.'], 'what was stopped is not told any more')
  assert.equal(lastOf(rig.log).type, 'session.status_idle')
  mustBeSettled(rig.log)
})

test('a handover leaves the runtime running, and the next owner logs the rest', async () => {
  const { fake, runtime } = await started([[...work.slice(0, 1), { text: ['Done.'], hold: 'before' }]])
  const rig = runRig()
  const prompt = promptOf('Go')
  let isDraining = false
  const first = rig.run(runtime, prompt, { isDraining: () => isDraining })
  await eventually(() => fake.held() > 0)
  isDraining = true
  await first
  assert.ok(!fake.requests.some(({ path }) => path.endsWith('/abort')))
  fake.release()
  await rig.run(runtime, prompt, { isResumed: true })
  assert.deepEqual(rig.types(), whole)
  assert.equal(fake.prompts().length, 1)
})

test('a wrong password fails the run with the reason, without the password', async () => {
  const { fake } = await started([work], { password: 'right-password' })
  const { runtime, kind, endpoint } = opencodeRig(fake, { apiKey: 'wrong-password' })
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'))
  assert.match(errorOf(lastOf(rig.log)).message, /rejected the credential \(401\)/)
  assert.ok(!JSON.stringify(rig.log).includes('wrong-password'))
  await assert.rejects(kind.check(endpoint, AbortSignal.timeout(5_000)), { status: 401 })
})

test('the right password is accepted; the models are listed by provider', async () => {
  const { fake } = await started([work], { password: 'right-password' })
  const { runtime, kind, endpoint } = opencodeRig(fake, { apiKey: 'right-password' })
  await kind.check(endpoint, AbortSignal.timeout(5_000))
  const models = await kind.models(endpoint, AbortSignal.timeout(5_000))
  assert.deepEqual(models, [
    { id: 'anthropic/sonnet', display_name: 'Sonnet' },
    { id: 'anthropic/demo', display_name: 'Demo' },
  ])
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'))
  assert.deepEqual(rig.types(), whole)
})

test('a deleted session is deleted at the runtime too, also if it is missing there', async () => {
  const { fake, runtime } = await started([work])
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'))
  for (let time = 0; time < 2; time++) await runtime.dispose({ id: rig.session.id, refs: rig.refs })
  assert.equal(fake.sessions.size, 0)
})

const errors = [
  [{ name: 'APIError', data: { message: 'budget used up', statusCode: 402 } }, 'billing_error'],
  [{ name: 'APIError', data: { message: 'slow down', statusCode: 429 } }, 'model_rate_limited_error'],
  [{ name: 'ProviderAuthError', data: { message: 'no key', providerID: 'x' } }, 'model_request_failed_error'],
  [{ name: 'UnknownError', data: { message: 'Model not found: x\n    at <anonymous>' } }, 'model_request_failed_error'],
] as const

for (const [error, type] of errors) {
  for (const errorOnly of [false, true]) {
    test(`${error.name} ${error.data.message.slice(0, 15)} ends the run as ${type}${errorOnly ? ', without a message too' : ''}`, async () => {
      const { runtime } = await started([[{ error, errorOnly }]])
      const rig = runRig()
      await rig.run(runtime, promptOf('Go'))
      const told = errorOf(lastOf(rig.log))
      assert.deepEqual([told.type, told.retry_status?.type], [type, 'terminal'])
      assert.equal(told.message, error.data.message.split('\n')[0])
    })
  }
}

test('a retry of a model call is logged and does not end the run', async () => {
  const { runtime } = await started([[{ retry: 'overloaded', text: ['Done.'] }]])
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'))
  const [told] = rig.log.filter(({ type }) => type === 'session.error')
  assert.ok(told)
  assert.deepEqual([errorOf(told).message, errorOf(told).retry_status?.type], ['overloaded', 'retrying'])
  assert.equal(lastOf(rig.log).type, 'session.status_idle')
})
