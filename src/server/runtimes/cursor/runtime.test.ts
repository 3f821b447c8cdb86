import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  call,
  errorOf,
  git,
  say,
  startCursorRig,
  textOf,
  turn,
  turnTypes,
} from '../../../../test/support/cursor-rig.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { promptOf, runRig, sessionWith } from '../../../../test/support/run-rig.ts'

const environment = { repository: 'https://github.com/acme/app', ref: 'main', auto_create_pr: true }

test('a session begins with one agent that has its repository, its system prompt, its memories and the prompt', async t => {
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
  assert.deepEqual(rig.log.at(-1)?.['git'], git)
  assert.deepEqual(rig.refs.runtime_state['git'], git)
})

test('text is shown as it comes, under the id of the message that is stored', async t => {
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

test('aliases of older clients name the repository, and without one the agent has none', async t => {
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

test('C7: a model that Cursor does not have fails the prompt by name, before and after others, and no run begins', async t => {
  const { fake, runtime } = await startCursorRig()
  t.after(fake.stop)
  const rig = runRig()
  for (const runs of [0, 1]) {
    await rig.run(runtime, promptOf('Go', { model: 'no-such-model' }))
    assert.match(errorOf(rig.log.at(-1)).message, /"no-such-model" is not known to the runtime; it has composer-2\.5;/)
    assert.equal(fake.runs.length, runs)
    await rig.run(runtime, promptOf('Go', { model: 'composer' }))
    assert.equal(rig.log.at(-1)?.type, 'session.status_idle')
  }
})

test('C7: while the list of models cannot be read, no run begins with another model', async t => {
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

test('a second prompt is a second run of the same agent, with its text alone', async t => {
  const { fake, runtime } = await startCursorRig({ script: prompt => [say(`Re: ${prompt}`)] })
  t.after(fake.stop)
  const rig = runRig(sessionWith({ system: 'You are terse.' }))
  await rig.run(runtime, promptOf('One'))
  await rig.run(runtime, promptOf('Two'))
  assert.deepEqual([fake.account.agents.size, fake.account.runsMade], [1, 2])
  const messages = rig.log.filter(({ type }) => type === 'agent.message').map(textOf)
  assert.deepEqual(messages, ['Re: You are terse.\n\nOne', 'Re: Two'])
  assert.equal(rig.log.filter(({ type }) => type === 'session.status_idle').length, 2)
})

test('an agent that is busy with a run of somebody else is waited for, longer each time', async t => {
  const { fake, runtime, waits } = await startCursorRig({
    script: prompt => (prompt === 'Foreign' ? [{ hold: true }] : [say(prompt)]),
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

test('an interrupt cancels the run at Cursor, and each tool call still gets a result', async t => {
  const { fake, runtime } = await startCursorRig({ script: () => [call('running'), say('Half'), { hold: true }] })
  t.after(fake.stop)
  const rig = runRig()
  const stop = new AbortController()
  const running = rig.run(runtime, promptOf('Go'), { signal: stop.signal })
  await eventually(() => rig.previews.length > 0)
  stop.abort()
  await running
  assert.equal(fake.runs[0]?.status, 'CANCELLED')
  assert.deepEqual(rig.types(), ['session.status_running', 'agent.tool_use', 'agent.message', 'agent.tool_result'])
  assert.equal(rig.log.at(-1)?.['is_error'], true)
  fake.account.script = () => [say('Back')]
  await rig.run(runtime, promptOf('Again'))
  assert.equal(rig.log.at(-1)?.type, 'session.status_idle')
  assert.deepEqual([fake.account.agents.size, fake.account.runsMade], [1, 2])
})

test('an interrupt in the moment in which the run begins stops that run too', async t => {
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

test('a process that hands its sessions over leaves the run alone, and the next one goes on with it', async t => {
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

test('a prompt that follows one that was given up cancels the run that was left behind', async t => {
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
  fake.account.script = () => [say('Back')]
  await rig.run(runtime, promptOf('Again'))
  assert.deepEqual(
    fake.runs.map(({ status }) => status),
    ['CANCELLED', 'FINISHED'],
  )
})

test('a wrong key fails the prompt in words without the key, and the right one makes one agent later', async t => {
  const { fake, kind, endpoint, runtime } = await startCursorRig({ apiKey: 'a-wrong-key' })
  t.after(fake.stop)
  const rig = runRig()
  await rig.run(runtime, promptOf('One'))
  assert.deepEqual(rig.types(), ['session.status_running', 'session.error'])
  assert.match(errorOf(rig.log.at(-1)).message, /refused the credential \(401\)/)
  assert.doesNotMatch(JSON.stringify(rig.log), /a-wrong-key/)
  await rig.run(kind.connect({ ...endpoint, apiKey: fake.key }), promptOf('Two'))
  assert.equal(rig.log.at(-1)?.type, 'session.status_idle')
  assert.equal(fake.account.agents.size, 1)
})

test('a key that is revoked amid a run fails it, and closes what was open', async t => {
  const { fake, runtime } = await startCursorRig({
    script: () => [say('I '), call('running'), { cut: 1 }, { hold: true }],
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

test('a runtime that is down fails the prompt after three tries', async t => {
  const { fake, runtime } = await startCursorRig()
  t.after(() => undefined)
  await fake.stop()
  const rig = runRig()
  await rig.run(runtime, promptOf('Go'))
  assert.deepEqual(rig.types(), ['session.status_running', 'session.error'])
  assert.match(errorOf(rig.log.at(-1)).message, /the connection to the runtime failed/)
})

test('a runtime that goes down amid a run is waited for 300 s, and no longer', async t => {
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

test('a call that Cursor refuses for a while is made again, and one that it refuses for good is not', async t => {
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
    message: 'the runtime refused the call (400): The fake says integration_not_connected',
    retry_status: { type: 'terminal' },
  })
  assert.equal(fake.count('POST /v1/agents/*/runs'), 1)
})

test('a session that is deleted stops its run and deletes its agent; one that has none needs nothing', async t => {
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

test('a check proves address and key, and the models are those of the account', async t => {
  const { fake, kind, endpoint } = await startCursorRig()
  t.after(fake.stop)
  const { signal } = new AbortController()
  await kind.check(endpoint, signal)
  assert.deepEqual(await kind.models(endpoint, signal), [{ id: 'composer-2.5', display_name: 'Composer 2.5' }])
  await assert.rejects(kind.check({ ...endpoint, apiKey: 'wrong' }, signal), /refused the credential/)
  await assert.rejects(kind.check({ ...endpoint, apiBase: `${fake.url}/elsewhere` }, signal), /404/)
})
