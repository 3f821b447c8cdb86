import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Switches } from '../../../../test/support/managed-agents/managed-agents-fake-script.ts'
import {
  assertOnce,
  assertSound,
  managedAgentsStage,
  story,
} from '../../../../test/support/managed-agents/managed-agents-stage.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import type { LooseFields } from '../../../../test/support/sessions/loose-event.ts'
import { promptOf } from '../../../../test/support/sessions/run-rig.ts'

const allow = async () => ({ result: 'allow', message: undefined }) as const

const script = () =>
  [
    { use: 'bash', result: 'a.txt' },
    { use: 'write', result: 'written', ask: true },
    { say: 'Done.', pieces: ['Do', 'ne.'] },
  ] as const

const turn = [
  'running',
  'uses bash',
  'result a.txt',
  'uses write',
  'idle requires_action',
  'running',
  'result written',
  'says Done.',
  'idle end_turn',
]

const servers: readonly Partial<Switches>[] = [
  { closeAtIdle: true },
  { closeAtOnce: true },
  { bareFrames: true },
  { isTerse: true },
  { replays: true },
  { replays: true, closeAtIdle: true },
  ...[1, 2, 3, 4, 5, 6, 7, 8].map(dropAfter => ({ dropAfter })),
]

for (const switches of servers) {
  test(`${JSON.stringify(switches)}: two turns are logged completely and once`, async t => {
    const { fake, rig, runtime } = await managedAgentsStage(t, { script, switches, pageSize: 5 })
    await rig.run(runtime, promptOf('Go'), { decide: allow })
    await rig.run(runtime, promptOf('Go'), { decide: allow })
    assert.deepEqual(story(rig.log), [...turn, ...turn])
    assertSound(rig.log)
    assertOnce(fake, 2)
  })
}

test('events without ids are identified by their place in the list', async t => {
  const steps = [{ use: 'bash', result: 'a' }, { cut: 'end' }, { use: 'read', result: 'b' }, { say: 'Done.' }] as const
  const { fake, rig, runtime } = await managedAgentsStage(t, { script: () => steps, switches: { noIds: true } })
  await rig.run(runtime, promptOf('Go'))
  await rig.run(runtime, promptOf('Go'))
  const expected = ['running', 'uses bash', 'result a', 'uses read', 'result b', 'says Done.', 'idle end_turn']
  assert.deepEqual(story(rig.log), [...expected, ...expected])
  assertSound(rig.log)
  assertOnce(fake, 2)
})

test('events while no process is attached are read from the list', async t => {
  for (const cut of ['end', 'reset'] as const) {
    const steps = [{ say: 'One.' }, { cut }, { say: 'Two.' }, { use: 'bash', result: 'ok' }] as const
    const { rig, runtime } = await managedAgentsStage(t, { script: () => steps })
    await rig.run(runtime, promptOf('Go'))
    assert.deepEqual(story(rig.log), ['running', 'says One.', 'says Two.', 'uses bash', 'result ok', 'idle end_turn'])
    assertSound(rig.log)
  }
})

test('events between the opening of the stream and the end of the list are logged once', async t => {
  const { fake, rig, runtime } = await managedAgentsStage(t, { script: () => [{ cut: 'end' }, { hang: true }] })
  let lists = 0
  fake.state.fault = ({ method, path }) => {
    // The second list is that of the interrupted turn; its stream is open now.
    if (method === 'GET' && path.endsWith('/events') && ++lists === 2) {
      fake.session.emit({ type: 'agent.message', content: [{ type: 'text', text: 'Between.' }] })
      fake.session.emit({ type: 'session.usage', usage: {} })
    }
    return undefined
  }
  const stop = new AbortController()
  const run = rig.run(runtime, promptOf('Go'), { signal: stop.signal })
  await eventually(() => story(rig.log).includes('session.usage'))
  fake.session.emit({ type: 'agent.message', content: [{ type: 'text', text: 'Behind.' }] })
  await eventually(() => story(rig.log).includes('says Behind.'))
  stop.abort()
  await run
  assert.deepEqual(story(rig.log), ['running', 'says Between.', 'session.usage', 'says Behind.'])
  assertSound(rig.log)
})

test('a server that keeps closing its stream without ending the turn fails the run after growing waits', async t => {
  const { fake, rig, runtime, waits } = await managedAgentsStage(t, {
    script: () => [{ raw: { type: 'agent.tool_use', name: 'bash', input: {} } }, { hang: true }],
    switches: { closeAtOnce: true },
  })
  await rig.run(runtime, promptOf('Go'))
  const given = 'terminal: the runtime closed its stream 20 times without a new event'
  assert.deepEqual(story(rig.log), ['running', 'uses bash', 'error interrupted: the call has no result', given])
  const opened = fake.requestsTo('GET', '/events/stream').length
  assert.ok(opened > 15 && opened < 30, `${opened} streams`)
  const waited = waits.reduce((sum, ms) => sum + ms, 0)
  assert.ok(waited > 120_000 && waited < 900_000, `${waited} ms`)
})

test('retry-after of a server that is temporarily unavailable is respected', async t => {
  const { fake, rig, runtime, waits } = await managedAgentsStage(t, { script })
  let refusals = 0
  fake.state.fault = ({ method, path }) => {
    if (method !== 'GET' || !path.endsWith('/events') || refusals >= 3) return undefined
    refusals += 1
    return { status: 429, headers: { 'retry-after': '7' } }
  }
  await rig.run(runtime, promptOf('Go'), { decide: allow })
  assert.deepEqual(story(rig.log), turn)
  assert.equal(
    waits.reduce((sum, ms) => sum + ms, 0),
    21_000,
  )
})

test('a server that keeps rejecting fails the run with its message', async t => {
  const { fake, rig, runtime } = await managedAgentsStage(t, { script })
  fake.state.fault = ({ path }) => (path.endsWith('/events/stream') ? { status: 529 } : undefined)
  await rig.run(runtime, promptOf('Go'))
  assert.deepEqual(story(rig.log), ['running', 'terminal: the runtime failed (529): injected'])
})

test('a wrong key fails the run at once and is not logged', async t => {
  const { fake, kind, rig } = await managedAgentsStage(t)
  await rig.run(kind.connect({ id: 'cma', apiBase: fake.url, apiKey: 'sk-wrong-key' }), promptOf('Go'))
  assert.deepEqual(story(rig.log), [
    'running',
    'terminal: the runtime rejected the credential (401): invalid x-api-key [secret]',
  ])
  assert.equal(fake.requests.length, 1)
})

test('an unreachable server fails the run', async t => {
  const { fake, rig, runtime } = await managedAgentsStage(t)
  await fake.stop()
  await rig.run(runtime, promptOf('Go'))
  assert.deepEqual(story(rig.log), ['running', 'terminal: the connection to the runtime failed (ECONNREFUSED)'])
})

test('a session that was deleted at the provider fails the run, and no new one is created', async t => {
  const { fake, rig, runtime } = await managedAgentsStage(t)
  await rig.run(runtime, promptOf('Go'))
  fake.lose(fake.session.id)
  await rig.run(runtime, promptOf('Go'))
  assert.equal(story(rig.log).at(-1), 'terminal: the session was deleted at the runtime; continue in a new session')
  assert.equal(fake.requestsTo('POST', '/v1/sessions').length, 1)
})

test('frames that are not events lose nothing, since the list is complete', async t => {
  for (const bytes of [
    'data: {half\n\n',
    'data: 7\n\n',
    'event: error\ndata: {"type":"error"}\n\n',
    '\u0000\u0001\n\n',
    ': hm\n\n',
  ]) {
    const { rig, runtime } = await managedAgentsStage(t, { script: () => [{ bytes }, { say: 'Done.' }] })
    await rig.run(runtime, promptOf('Go'))
    assert.deepEqual(story(rig.log), ['running', 'says Done.', 'idle end_turn'], bytes)
    assertSound(rig.log)
  }
})

test('a malformed stream fails the run', async t => {
  const { fake, rig, runtime } = await managedAgentsStage(t, { script: () => [{ hang: true }] })
  const garbage = setInterval(() => {
    for (const session of fake.sessions.values()) session.writeBytes('data: garbage\n\n')
  }, 1)
  t.after(() => clearInterval(garbage))
  await rig.run(runtime, promptOf('Go'))
  assert.deepEqual(story(rig.log), [
    'running',
    'terminal: the stream of the runtime contains a frame that is not a JSON object',
  ])
})

test('event types for special clients are passed through, unknown ones are dropped', async t => {
  const raw = (type: string, fields = {}) => ({ raw: { type, session_thread_id: 'sthr_1', ...fields } })
  const steps = [
    raw('session.thread_created', { prompt_id: 'msg_not_ours', seq: 99 }),
    raw('agent.thread_context_compacted'),
    raw('span.outcome_evaluation_end', { result: 'satisfied' }),
    raw('workflow_run.created'),
    raw('session.usage', { usage: { input_tokens: 3 } }),
    raw('agent.telepathy'),
    raw('system.message'),
    { raw: { type: 'agent.thinking' } },
  ]
  const { rig, runtime } = await managedAgentsStage(t, { script: () => steps })
  await rig.run(runtime, promptOf('Go'))
  assert.deepEqual(
    story(rig.log),
    [
      'running',
      'session.thread_created',
      'agent.thread_context_compacted',
      'span.outcome_evaluation_end',
      'workflow_run.created',
      'session.usage',
      'agent.thinking',
      'idle end_turn',
    ].filter(told => !told.startsWith('span.')),
  )
  // The contract does not list this type.
  const created: LooseFields | undefined = rig.log.find(({ type }: LooseFields) => type === 'session.thread_created')
  assert.equal(created?.['session_thread_id'], 'sthr_1')
  assert.equal(created?.['prompt_id'], undefined)
  assert.equal(created?.['seq'], 3)
})

test('a text of 10 MB is truncated, one larger than a frame is read from the list, and a larger one fails the run', async t => {
  for (const megabytes of [10, 20]) {
    const { rig, runtime } = await managedAgentsStage(t, {
      script: () => [{ use: 'bash', result: 'x'.repeat(megabytes * 1024 * 1024) }],
    })
    await rig.run(runtime, promptOf('Go'))
    const told = story(rig.log)
    assert.deepEqual(
      told.map(text => text.slice(0, 12)),
      ['running', 'uses bash', 'result xxxxx', 'idle end_tur'],
    )
    assert.match(told[2] ?? '', /x\n\[truncated: \d+ more characters\]$/)
    assert.ok((told[2] ?? '').length < 1.1 * 1024 * 1024)
  }
  const { rig, runtime } = await managedAgentsStage(t, {
    script: () => [{ use: 'bash', result: 'x'.repeat(33 * 1024 * 1024) }],
  })
  await rig.run(runtime, promptOf('Go'))
  assert.deepEqual(story(rig.log).slice(1), [
    'uses bash',
    'error interrupted: the call has no result',
    'terminal: the response of the runtime exceeds 32 MiB',
  ])
})

test('a prompt does not read a long session from its start', async t => {
  const words = Array.from({ length: 400 }, (_, index) => ({ say: `Word ${index}.` }))
  const { fake, rig, runtime } = await managedAgentsStage(t, { script: () => words })
  await rig.run(runtime, promptOf('Go'))
  const before = fake.requestsTo('GET', '/events').length
  await rig.run(runtime, promptOf('Go'))
  const [first] = fake.requestsTo('GET', '/events').slice(before)
  const since = Date.parse(first?.query.get('created_at[gte]') ?? '')
  const times = fake.session.events.map(({ processed_at }) => Date.parse(processed_at ?? ''))
  assert.ok(times.filter(at => at < since).length > 500)
  assert.equal(story(rig.log).filter(told => told === 'says Word 399.').length, 2)
  assertSound(rig.log)
})

test('a stream that replays old turns does not end a new one', async t => {
  const words = Array.from({ length: 400 }, (_, index) => ({ say: `Word ${index}.` }))
  const { fake, rig, runtime } = await managedAgentsStage(t, {
    switches: { replays: true },
    script: text =>
      text === 'cut off' ? [{ hang: true }] : text === 'long' ? words : [{ cut: 'end' }, { say: 'Third.' }],
  })
  const stop = new AbortController()
  await rig.run(runtime, promptOf('cut off'), {
    signal: stop.signal,
    onRemember: ({ provider_run_id }) => typeof provider_run_id === 'string' && stop.abort(),
  })
  // The end of that turn is not logged: the run was over before.
  await eventually(() => fake.session.status === 'idle')
  await rig.run(runtime, promptOf('long'))
  await rig.run(runtime, promptOf('third'))
  assert.deepEqual(story(rig.log).slice(-4), ['idle end_turn', 'running', 'says Third.', 'idle end_turn'])
  assertSound(rig.log)
})
