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
import { eventually } from '../../../../test/support/service/eventually.ts'
import { messagesIn, textOf } from '../../../../test/support/sessions/event-text.ts'
import { promptOf, runRig, sessionWith } from '../../../../test/support/sessions/run-rig.ts'

const environment = { repository: 'https://github.com/acme/app', ref: 'main', auto_create_pr: true }

test('the first prompt creates one agent with repository, system prompt, memories and the prompt', async t => {
  const { fake, runtime } = await startCursorRig({ script: () => turn, memories: '<memories>tabs</memories>' })
  t.after(fake.stop)
  const rig = runRig(sessionWith({ system: 'You are terse.', environment }))
  await rig.run(runtime, promptOf('Fix it', { model: 'composer' }))
  assert.deepEqual(rig.types(), turnTypes)
  const [agent] = fake.account.agents.values()
  assert.deepEqual(agent?.body, {
    agentId: rig.refs.provider_session_id,
    prompt: { text: 'You are terse.\n\n<memories>tabs</memories>\n\nFix it' },
    model: { id: 'composer-2.5' },
    repos: [{ url: 'https://github.com/acme/app', startingRef: 'main' }],
    autoCreatePR: true,
  })
  assert.equal(rig.refs.provider_run_id, fake.runs[0]?.id)
  assert.deepEqual(rig.log.at(-1)?.git, git)
  assert.deepEqual(rig.refs.runtime_state['git'], git)
})

test('text is previewed with the id of the stored message', async t => {
  const { fake, runtime } = await startCursorRig({ script: () => turn })
  t.after(fake.stop)
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'))
  const messages = rig.log.filter(({ type }) => type === 'agent.message')
  assert.deepEqual(
    messages.map(({ id }) => rig.previews.filter(({ eventId }) => eventId === id).map(({ text }) => text)),
    [
      ['I ', 'look.'],
      ['All ', 'done.'],
    ],
  )
})

test('the repository can be set with field names of older clients, and is optional', async t => {
  const { fake, runtime } = await startCursorRig()
  t.after(fake.stop)
  const source = { source: { repository: 'https://github.com/acme/app', ref: 'dev' }, autoCreatePr: false }
  await runRig(sessionWith({ environment: source })).run(runtime, promptOf('Go'))
  await runRig().run(runtime, promptOf('Go', { model: 'default' }))
  const [aliased, bare] = [...fake.account.agents.values()].map(({ body }) => body)
  assert.deepEqual(
    [aliased?.['repos'], aliased?.['autoCreatePR']],
    [[{ url: source.source.repository, startingRef: 'dev' }], false],
  )
  assert.deepEqual([bare?.['repos'], bare?.['autoCreatePR'], bare?.['model']], [undefined, undefined, undefined])
})

test('C7: an unknown model fails the first and later prompts by name, and no run is created', async t => {
  const { fake, runtime } = await startCursorRig()
  t.after(fake.stop)
  const rig = runRig()
  for (const runs of [0, 1]) {
    await rig.run(runtime, promptOf('Go', { model: 'no-such-model' }))
    assert.match(
      errorOf(rig.log.at(-1)).message,
      /"no-such-model" is unknown to the runtime; use one of composer-2\.5,/,
    )
    assert.equal(fake.runs.length, runs)
    await rig.run(runtime, promptOf('Go', { model: 'composer' }))
    assert.equal(rig.log.at(-1)?.type, 'session.status_idle')
  }
})

test('C7: while the list of models cannot be read, no run is created with another model', async t => {
  const { fake, runtime } = await startCursorRig()
  t.after(fake.stop)
  fake.fail('GET /v1/models', 500, { times: 100 })
  const rig = runRig()
  await rig.run(runtime, promptOf('Go', { model: 'composer' }))
  assert.equal(rig.log.at(-1)?.type, 'session.error')
  await rig.run(runtime, promptOf('Go', { model: 'auto' }))
  assert.equal(rig.log.at(-1)?.type, 'session.status_idle')
  assert.equal(fake.runs.length, 1)
})

test('a second prompt is a second run of the same agent, with only its text', async t => {
  const { fake, runtime } = await startCursorRig({ script: prompt => [textStep(`Re: ${prompt}`)] })
  t.after(fake.stop)
  const rig = runRig(sessionWith({ system: 'You are terse.' }))
  await rig.run(runtime, promptOf('One'))
  await rig.run(runtime, promptOf('Two'))
  assert.deepEqual([fake.account.agents.size, fake.account.runsMade], [1, 2])
  const messages = messagesIn(rig.log)
  assert.deepEqual(messages, ['Re: You are terse.\n\nOne', 'Re: Two'])
  assert.equal(rig.log.filter(({ type }) => type === 'session.status_idle').length, 2)
})

test('a prompt waits for an agent that is busy with a foreign run, longer each time', async t => {
  const { fake, runtime, waits } = await startCursorRig({
    script: prompt => (prompt === 'Foreign' ? [{ hold: true }] : [textStep(prompt)]),
  })
  t.after(fake.stop)
  const rig = runRig()
  await rig.run(runtime, promptOf('One'))
  const foreign = fake.account.begin(rig.refs.provider_session_id ?? '', 'Foreign')
  const second = rig.run(runtime, promptOf('Two'))
  await eventually(() => waits.length > 6)
  foreign.release()
  await second
  assert.deepEqual(waits.slice(0, 7), [500, 1000, 2000, 4000, 8000, 10_000, 10_000])
  assert.equal(textOf(rig.log.at(-3)), 'Two')
  assert.equal(fake.account.runsMade, 3)
})

test('an agent that stays busy fails the prompt after 300 s', async t => {
  const { fake, runtime, waits } = await startCursorRig({
    script: prompt => (prompt === 'Foreign' ? [{ hold: true }] : []),
  })
  t.after(fake.stop)
  const rig = runRig()
  await rig.run(runtime, promptOf('One'))
  fake.account.begin(rig.refs.provider_session_id ?? '', 'Foreign')
  await rig.run(runtime, promptOf('Two'))
  assert.equal(
    waits.reduce((sum, milliseconds) => sum + milliseconds, 0),
    300_000,
  )
  assert.match(errorOf(rig.log.at(-1)).message, /busy with another run for 300 s/)
})

test('an interrupt cancels the run at Cursor, and each tool call gets a result', async t => {
  const { fake, runtime } = await startCursorRig({ script: () => [call('running'), textStep('Half'), { hold: true }] })
  t.after(fake.stop)
  const rig = runRig()
  const stop = new AbortController()
  const running = rig.run(runtime, promptOf('Go'), { signal: stop.signal })
  await eventually(() => rig.previews.length > 0)
  stop.abort()
  await running
  assert.equal(fake.runs[0]?.status, 'CANCELLED')
  assert.deepEqual(rig.types(), ['session.status_running', 'agent.tool_use', 'agent.message', 'agent.tool_result'])
  assert.equal(rig.log.at(-1)?.is_error, true)
  fake.account.script = () => [textStep('Back')]
  await rig.run(runtime, promptOf('Again'))
  assert.equal(rig.log.at(-1)?.type, 'session.status_idle')
  assert.deepEqual([fake.account.agents.size, fake.account.runsMade], [1, 2])
})

test('an interrupt during the creation of the run cancels that run too', async t => {
  const { fake, runtime } = await startCursorRig({ script: () => [{ hold: true }] })
  t.after(fake.stop)
  fake.fail('POST /v1/agents', 'break-after')
  const rig = runRig()
  const stop = new AbortController()
  const running = rig.run(runtime, promptOf('Go'), { signal: stop.signal })
  await eventually(() => fake.account.runsMade > 0)
  stop.abort()
  await running
  assert.equal(fake.runs[0]?.status, 'CANCELLED')
})

test('a draining process does not cancel the run, and the next process resumes it', async t => {
  const { fake, runtime } = await startCursorRig({ script: () => [call('running'), { hold: true }, ...turn.slice(5)] })
  t.after(fake.stop)
  const rig = runRig()
  const shutdown = new AbortController()
  const prompt = promptOf('Go')
  const running = rig.run(runtime, prompt, { signal: shutdown.signal, isDraining: () => shutdown.signal.aborted })
  await eventually(() => rig.types().includes('agent.tool_use'))
  shutdown.abort()
  await running
  assert.equal(fake.runs[0]?.isActive, true)
  assert.equal(rig.types().at(-1), 'agent.tool_use')
  fake.runs[0]?.release()
  await rig.run(runtime, prompt, { isResumed: true })
  assert.deepEqual(rig.types(), [
    'session.status_running',
    'agent.tool_use',
    'agent.tool_result',
    ...turnTypes.slice(5),
  ])
})

test('a prompt after a failed one cancels the run that was left running', async t => {
  const { fake, runtime } = await startCursorRig({ script: () => [{ hold: true }] })
  t.after(fake.stop)
  fake.fail('POST /v1/agents/*/runs/*/cancel', 500)
  const rig = runRig()
  const stop = new AbortController()
  const running = rig.run(runtime, promptOf('Go'), { signal: stop.signal })
  await eventually(() => fake.count('GET /v1/agents/*/runs/*/stream') > 0)
  stop.abort()
  await running
  assert.equal(fake.runs[0]?.isActive, true)
  fake.account.script = () => [textStep('Back')]
  await rig.run(runtime, promptOf('Again'))
  assert.deepEqual(
    fake.runs.map(({ status }) => status),
    ['CANCELLED', 'FINISHED'],
  )
})

test('a wrong key fails the prompt without showing the key, and the right one creates one agent later', async t => {
  const { fake, kind, endpoint, runtime } = await startCursorRig({ apiKey: 'a-wrong-key' })
  t.after(fake.stop)
  const rig = runRig()
  await rig.run(runtime, promptOf('One'))
  assert.deepEqual(rig.types(), ['session.status_running', 'session.error'])
  assert.match(errorOf(rig.log.at(-1)).message, /rejected the credential \(401\)/)
  assert.doesNotMatch(JSON.stringify(rig.log), /a-wrong-key/)
  await rig.run(kind.connect({ ...endpoint, apiKey: fake.key }), promptOf('Two'))
  assert.equal(rig.log.at(-1)?.type, 'session.status_idle')
  assert.equal(fake.account.agents.size, 1)
})

test('a key that is revoked during a run fails it and closes open calls', async t => {
  const { fake, runtime } = await startCursorRig({
    script: () => [textStep('I '), call('running'), { cut: 1 }, { hold: true }],
  })
  t.after(fake.stop)
  fake.fail('GET /v1/agents/*/runs/*', 401, { times: 1000, code: 'unauthorized' })
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'))
  assert.deepEqual(rig.types(), [
    'session.status_running',
    'agent.message',
    'agent.tool_use',
    'agent.tool_result',
    'session.error',
  ])
})

test('an unreachable runtime fails the prompt after three tries', async t => {
  const { fake, runtime } = await startCursorRig()
  t.after(() => undefined)
  await fake.stop()
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'))
  assert.deepEqual(rig.types(), ['session.status_running', 'session.error'])
  assert.match(errorOf(rig.log.at(-1)).message, /the connection to the runtime failed/)
})

test('a runtime that becomes unreachable during a run fails it after 300 s', async t => {
  const { fake, runtime, waits } = await startCursorRig({ script: () => [call('running'), { hold: true }] })
  t.after(() => undefined)
  const rig = runRig()
  const running = rig.run(runtime, promptOf('Go'))
  await eventually(() => rig.types().includes('agent.tool_use'))
  await fake.stop()
  await running
  assert.deepEqual(rig.types().slice(-2), ['agent.tool_result', 'session.error'])
  assert.ok(waits.reduce((sum, milliseconds) => sum + milliseconds, 0) >= 300_000)
})

test('a temporary error of Cursor is retried, and a permanent one is not', async t => {
  const { fake, runtime } = await startCursorRig()
  t.after(fake.stop)
  fake.fail('POST /v1/agents', 503, { times: 2 })
  const rig = runRig()
  await rig.run(runtime, promptOf('One'))
  assert.equal(rig.log.at(-1)?.type, 'session.status_idle')
  fake.fail('POST /v1/agents/*/runs', 400, { times: 2, code: 'integration_not_connected' })
  await rig.run(runtime, promptOf('Two'))
  assert.deepEqual(errorOf(rig.log.at(-1)), {
    type: 'repository_authentication_error',
    message: 'the runtime rejected the request (400): The fake says integration_not_connected',
    retry_status: { type: 'terminal' },
  })
  assert.equal(fake.count('POST /v1/agents/*/runs'), 1)
})

test('deleting a session cancels its run and deletes its agent, if there is one', async t => {
  const { fake, runtime } = await startCursorRig({ script: () => [{ hold: true }] })
  t.after(fake.stop)
  const rig = runRig()
  const prompt = promptOf('Go')
  await rig
    .run(runtime, prompt, { onRemember: refs => void (refs.provider_run_id && assert.fail('cut')) })
    .catch(() => undefined)
  await runtime.dispose({ id: rig.session.id, refs: rig.refs })
  assert.equal(fake.account.agents.size, 0)
  assert.equal(fake.count('POST /v1/agents/*/runs/*/cancel'), 1)
  await runtime.dispose({ id: rig.session.id, refs: rig.refs })
  await runtime.dispose({ id: 'ses_none', refs: runRig().refs })
})

test('a check verifies address and key, and the models are those of the account', async t => {
  const { fake, kind, endpoint } = await startCursorRig()
  t.after(fake.stop)
  const { signal } = new AbortController()
  await kind.check(endpoint, signal)
  assert.deepEqual(await kind.models(endpoint, signal), [{ id: 'composer-2.5', display_name: 'Composer 2.5' }])
  await assert.rejects(kind.check({ ...endpoint, apiKey: 'wrong' }, signal), /rejected the credential/)
  await assert.rejects(kind.check({ ...endpoint, apiBase: `${fake.url}/elsewhere` }, signal), /404/)
})
