import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import type { Hook } from '../../../src/server/config/config.ts'
import { type Caller, masterCaller } from '../../../src/server/http/caller.ts'
import { callModel } from '../../../src/server/runtimes/builtin/model-call.ts'
import { deploymentAt, startGatewayApp } from '../../support/gateway/gateway-app.ts'
import { type HookRequest, hookAt, masking, startHookServer } from '../../support/gateway/hook-server.ts'
import { startEndpointUpstream } from '../../support/upstream/endpoint-upstream.ts'
import { type Script, startScriptedUpstream } from '../../support/upstream/scripted-upstream.ts'
import { simple } from './setup.ts'

interface Options {
  readonly hooks: (url: string) => readonly Hook[]
  readonly script?: Script
  readonly caller?: Caller
  /** False: the hook's private address is not in `outbound.allow`. */
  readonly isAllowed?: boolean
}

/** A gateway with hooks before an upstream of Anthropic's format. All of it ends with the test. */
async function start(t: TestContext, { hooks, script = [{ text: 'open sesame' }], caller, isAllowed = true }: Options) {
  const hook = await startHookServer()
  const upstream = await startScriptedUpstream({ script })
  const host = new URL(upstream.url).host
  const app = await startGatewayApp({
    deployments: [
      deploymentAt(upstream.url),
      deploymentAt(upstream.url, { id: 'test.2', alias: 'other', upstreamModel: 'other' }),
    ],
    demo: false,
    hooks: hooks(hook.url),
    allow: isAllowed ? [host, hook.host] : [host],
    ...(caller && { caller }),
  })
  t.after(() => Promise.all([app.stop(), hook.stop(), upstream.stop()]))
  const ask = async (more: object = {}, init: Parameters<typeof app.post>[1] = {}) => {
    const response = await app.post({ model: 'test-model', ...simple, ...more }, init)
    return { response, text: await response.text() }
  }
  return { hook, upstream, app, ask }
}

const keyed = (models: readonly string[]): Caller => ({
  ...masterCaller,
  principal: 'ann',
  key: { id: 'key_ann', models, isLimited: false, isNarrow: true, expires: false },
})

const messageOf = (text: string): string => (JSON.parse(text) as { error: { message: string } }).error.message

const unusable: readonly (readonly [what: string, said: object | string, status: number, reason: RegExp])[] = [
  ['a status of its own', { action: 'allow' }, 500, /it answered with status 500/],
  ['a redirect', {}, 302, /it answered with status 302/],
  ['no JSON', 'ok', 200, /its answer is not a JSON object/],
  ['an unknown action', { action: 'maybe' }, 200, /action in its answer must be allow, block or replace/],
  ['a body that is a list', { action: 'replace', body: [] }, 200, /body in its answer must be/],
  ['a replacement without a body', { action: 'replace' }, 200, /body in its answer must be/],
]
for (const [what, said, status, reason] of unusable) {
  for (const phase of ['pre', 'post'] as const) {
    test(`A7, ${phase}: a hook that answers with ${what} decides by its on_error`, async t => {
      const { hook, ask } = await start(t, { hooks: url => [hookAt(url, { phase })] })
      hook.answer(said, status)
      const { response, text } = await ask()
      assert.equal(response.status, 502)
      assert.match(messageOf(text), new RegExp(`^hook guard failed: ${reason.source}`))
      assert.ok(!text.includes('sesame'))
      assert.equal(response.headers.get('x-should-retry'), phase === 'post' ? 'false' : null)

      const lenient = await start(t, { hooks: url => [hookAt(url, { phase, onError: 'allow' })] })
      lenient.hook.answer(said, status)
      const passed = await lenient.ask()
      assert.deepEqual([passed.response.status, /sesame/.test(passed.text)], [200, true])
      assert.equal(lenient.hook.got.length, 1)
    })
  }
}

test('A8: a hook that does not answer in time, or cannot be reached, decides by its on_error', async t => {
  const { hook, ask } = await start(t, { hooks: url => [hookAt(url, { timeoutMs: 30 })] })
  hook.answer('hang')
  const late = await ask()
  assert.deepEqual([late.response.status, messageOf(late.text)], [502, 'hook guard failed: no answer within 30 ms'])
  assert.equal(await hook.last().closed, false, 'its request is aborted')

  const absent = await start(t, { hooks: () => [hookAt('http://127.0.0.1:1/'), hookAt('http://127.0.0.1:1/')] })
  const refused = await absent.ask()
  assert.match(messageOf(refused.text), /^hook guard failed: its address is not allowed$/)

  const hidden = await start(t, { hooks: url => [hookAt(url, { onError: 'allow' })], isAllowed: false })
  assert.deepEqual([(await hidden.ask()).response.status, hidden.hook.got.length], [200, 0])
})

const kept: readonly (readonly [what: string, body: object | string, status: number])[] = [
  ['a model that the key may not use', { model: 'other', ...simple }, 403],
  ['an unknown model', { model: 'nobody', ...simple }, 403],
  ['a body that is not JSON', '{', 400],
  ['a body without a model', simple, 400],
]
for (const [what, body, status] of kept) {
  test(`A9: no hook is asked about a call with ${what}`, async t => {
    const { hook, app } = await start(t, { hooks: url => [hookAt(url)], caller: keyed(['test-model']) })
    const response = await app.post(body)
    assert.deepEqual([response.status, hook.got.length], [status, 0])
    assert.equal(response.headers.get('x-switchyard-error-source'), 'gateway')
    assert.ok(response.headers.get('x-switchyard-request-id'))
  })
}

test('A10: hooks are asked about their models and keys only', async t => {
  const hooks = (url: string) => [
    hookAt(url, { name: 'mine', models: ['test-*'], keys: ['key_ann'] }),
    hookAt(url, { name: 'others', models: ['other'] }),
    hookAt(url, { name: 'strangers', keys: ['key_ben'] }),
  ]
  const { hook, ask } = await start(t, { hooks, caller: keyed([]) })
  await ask()
  assert.equal(hook.got.length, 1)
  const { request_id: id, ...call } = hook.last().asked.call
  assert.match(String(id), /^req_/)
  assert.deepEqual(call, {
    kind: 'messages',
    model: 'test-model',
    stream: false,
    principal: 'ann',
    key_id: 'key_ann',
    content_type: 'application/json',
    body: { model: 'test-model', ...simple },
  })
  await ask({ model: 'other' })
  assert.equal(hook.got.length, 2)
  const master = await start(t, { hooks })
  await master.ask()
  assert.equal(master.hook.got.length, 0)
})

test('A11: hooks are asked in their order, each with what the one before made of the call or the answer', async t => {
  const named = (phase: Hook['phase']) => (url: string) => [
    hookAt(url, { name: 'one', phase }),
    hookAt(url, { name: 'two', phase }),
  ]
  for (const phase of ['pre', 'post'] as const) {
    const { hook, ask, upstream } = await start(t, { hooks: named(phase), script: [{ text: 'first second' }] })
    hook.answer(asked => masking(hook.got.length === 1 ? 'first' : 'second')(asked))
    const { text } = await ask({ messages: [{ role: 'user', content: 'first second' }] })
    assert.deepEqual(
      hook.got.map(({ headers }) => headers['x-switchyard-hook']),
      ['one', 'two'],
    )
    assert.match(hook.last().text, /\[masked\] second/)
    assert.match(phase === 'pre' ? (upstream.requests.at(-1)?.rawBody.toString() ?? '') : text, /\[masked\] \[masked\]/)
  }
})

test('A12: embeddings and other endpoints have hooks, forms without their body; counts have none', async t => {
  const hook = await startHookServer()
  const upstream = await startEndpointUpstream()
  const deployment = deploymentAt(upstream.url, { provider: 'openai-compatible', protocols: ['openai-chat'] })
  const allow = [hook.host, new URL(upstream.url).host]
  const hooks = [hookAt(hook.url), hookAt(hook.url, { name: 'after', phase: 'post' })]
  const app = await startGatewayApp({ deployments: [deployment], demo: false, hooks, allow })
  t.after(() => Promise.all([app.stop(), hook.stop(), upstream.stop()]))

  await (await app.post({ model: 'test-model', input: 'hi' }, { path: '/v1/embeddings' })).text()
  assert.deepEqual(
    hook.got.map(({ asked }) => [asked.phase, asked.call.kind]),
    [
      ['pre', 'embeddings'],
      ['post', 'embeddings'],
    ],
  )
  upstream.answer({ type: 'audio/mpeg', body: Buffer.from([0xff, 0xfb, 0, 1]) })
  const speech = await app.post({ model: 'test-model', input: 'hi', voice: 'a' }, { path: '/v1/audio/speech' })
  assert.deepEqual([...Buffer.from(await speech.arrayBuffer())], [0xff, 0xfb, 0, 1])
  const { status, content_type: type, body } = hook.last().asked.response ?? {}
  assert.deepEqual([status, type, body], [200, 'audio/mpeg', null])

  const form = new FormData()
  form.append('model', 'test-model')
  form.append('file', new Blob(['RIFF']), 'a.wav')
  const sendForm = () => fetch(`${app.url}/v1/audio/transcriptions`, { method: 'POST', body: form })
  await (await sendForm()).text()
  const { call } = hook.got.at(-2)?.asked ?? assert.fail()
  assert.deepEqual([call.kind, call.body], ['transcriptions', null])
  assert.match(String(call['content_type']), /^multipart\/form-data/)
  hook.answer({ action: 'replace', body: {} })
  assert.match(await (await sendForm()).text(), /hook guard failed: action replace is not possible for a form/)

  hook.answer({ action: 'allow' })
  const path = '/openai/deployments/test-model/chat/completions'
  const headers = { 'content-type': 'multipart/form-data; boundary=x' }
  await (await app.post({ messages: [{ role: 'user', content: 'hi' }] }, { path, headers })).text()
  assert.match(JSON.stringify(hook.last().asked.call.body), /"hi"/, 'what the gateway reads as JSON, the hook sees')

  const before = hook.got.length
  await (await app.post({ model: 'test-model', ...simple }, { path: '/v1/messages/count_tokens' })).text()
  assert.equal(hook.got.length, before)
})

const session = { id: 'ses_1', agent_id: 'agt_1', owner_id: 'ann', config: {} }

test('A13: calls of sessions are asked about with their session, and a blocked one is a final failure', async t => {
  const hooks = (url: string) => [hookAt(url), hookAt(url, { name: 'after', phase: 'post', bufferStream: true })]
  const { hook, app, upstream } = await start(t, { hooks })
  const call = () =>
    callModel(app.gateway, {
      session: session as unknown as Parameters<typeof callModel>[1]['session'],
      prompt: { id: 'prm_1' } as unknown as Parameters<typeof callModel>[1]['prompt'],
      runId: 'run_1',
      payer: { principal: 'ann', key: undefined },
      body: { model: 'test-model', ...simple },
      signal: new AbortController().signal,
      onText: () => {},
    })
  assert.ok('answer' in (await call()))
  const { session_id, agent_id, owner_id, run_id } = hook.last().asked.call
  assert.deepEqual([session_id, agent_id, owner_id, run_id], ['ses_1', 'agt_1', 'ann', 'run_1'])

  for (const blocking of ['pre', 'post']) {
    const before = upstream.requests.length
    hook.answer(({ phase }: HookRequest) =>
      phase === blocking ? { action: 'block', message: 'no' } : { action: 'allow' },
    )
    const result = await call()
    assert.ok('failure' in result)
    assert.deepEqual([result.failure.message, result.failure.isPassing], ['no', false])
    assert.equal(upstream.requests.length - before, blocking === 'pre' ? 0 : 1)

    hook.answer(({ phase }: HookRequest) => (phase === blocking ? {} : { action: 'allow' }))
    const failed = await call()
    assert.ok('failure' in failed)
    assert.equal(failed.failure.isPassing, blocking === 'pre', 'another answer would be paid for in vain')
  }
})

for (const phase of ['pre', 'post'] as const) {
  test(`A14, ${phase}: a client that leaves takes the hook’s request along`, async t => {
    const { hook, ask, app } = await start(t, { hooks: url => [hookAt(url, { phase })] })
    hook.answer('hang')
    const leaving = new AbortController()
    const call = ask({}, { signal: leaving.signal })
    await hook.asked(1)
    leaving.abort()
    await assert.rejects(call)
    assert.equal(await hook.last().closed, false)
    assert.equal(app.booked.length, phase === 'pre' ? 0 : 1)
  })
}

test('A14: a hook receives the outcome of a stream whose client left', async t => {
  const script = [{ text: 'open sesame', pauseAtFrame: 4 }]
  const { hook, app, upstream } = await start(t, { hooks: url => [hookAt(url, { phase: 'post' })], script })
  const leaving = new AbortController()
  const body = { model: 'test-model', ...simple, stream: true }
  const response = await app.post(body, { signal: leaving.signal })
  const first = await response.body?.getReader().read()
  assert.ok(first?.value)
  leaving.abort()
  await hook.asked(1)
  assert.equal(hook.last().asked.response?.['outcome'], 'aborted')
  upstream.release()
})

test('A15: an answer too long to be kept is blocked, or passes where on_error allows it', async t => {
  const body = JSON.stringify({ content: [], usage: { input_tokens: 1, output_tokens: 1 }, x: 'x'.repeat(17 << 20) })
  const { hook, ask } = await start(t, { hooks: url => [hookAt(url, { phase: 'post' })], script: [{ body }] })
  const { response, text } = await ask()
  assert.deepEqual([response.status, messageOf(text)], [502, 'hook guard failed: the answer is larger than 16 MB'])
  assert.equal(hook.got.length, 0)

  const hooks = (url: string) => [hookAt(url, { phase: 'post', onError: 'allow' })]
  const lenient = await start(t, { hooks, script: [{ body }] })
  assert.ok((await lenient.ask()).text === body)
})

test('A16: a body that names a member twice is rejected before a hook judges one of them', async t => {
  const { hook, app } = await start(t, { hooks: url => [hookAt(url)] })
  const doubled =
    '{"model":"test-model","max_tokens":5,"messages":[{"role":"user","content":"evil","\\u0063ontent":"good"}]}'
  const response = await app.post(doubled)
  assert.deepEqual([response.status, hook.got.length], [400, 0])
  assert.equal(messageOf(await response.text()), 'an object in the body names a member twice')
  const odd =
    '{"model":"test-model","max_tokens":5,"messages":[{"role":"user","content":"a\\":b\\\\"}],"x":{"a":1,"b":{"a":[]}}}'
  assert.equal((await app.post(odd)).status, 200)
})

test('A17: what a hook puts in place of a body is checked as the client’s own, and is answered as the client asked', async t => {
  const { hook, ask, upstream } = await start(t, { hooks: url => [hookAt(url)], caller: keyed(['test-model']) })
  const replaced = async (more: object) => {
    hook.answer(({ call }: HookRequest) => ({ action: 'replace', body: { ...call.body, ...more } }))
    return ask()
  }
  const other = await replaced({ model: 'other' })
  assert.equal(other.response.status, 403)
  assert.match(messageOf(other.text), /^hook guard replaced the body: this key may not use model other/)
  const broken = await replaced({ max_tokens: 'many' })
  assert.equal(broken.response.status, 400)
  assert.match(messageOf(broken.text), /^hook guard replaced the body: max_tokens /)
  const streamed = await replaced({ stream: true, previous_response_id: 'resp_of_another' })
  assert.match(streamed.text, /^\{/)
  const { stream, previous_response_id } = upstream.requests.at(-1)?.body ?? {}
  assert.deepEqual([stream, previous_response_id], [undefined, undefined])
})

test('A18: bytes pass as they are under hooks that allow; requests to hooks are signed', async t => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  const answer = '{ "id":"x","content":[],"usage":{"input_tokens":7,"output_tokens":3},"new":1.0 }'
  const hooks = (url: string) => [hookAt(url, { secret }), hookAt(url, { name: 'after', phase: 'post', secret })]
  const { hook, app, upstream } = await start(t, { hooks, script: [{ body: answer }] })
  const body =
    '{ "model":"test-model", "max_tokens":5,"messages":[{"role":"user","content":"\\u00e9"}],"n":12345678901234567890.0 }'
  assert.equal(await (await app.post(body)).text(), answer)
  assert.equal(upstream.requests.at(-1)?.rawBody.toString(), body)
  for (const { text, headers } of hook.got) {
    new Webhook(secret).verify(text, headers as Record<string, string>)
    assert.ok(text.includes(body), 'numbers keep their digits')
  }
})
