import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Hook } from '../../../src/server/config/config.ts'
import { deploymentAt, startGatewayApp } from '../../support/gateway/gateway-app.ts'
import { type HookServer, hookAt, masking, startHookServer } from '../../support/gateway/hook-server.ts'
import { type Script, type ScriptedUpstream, startScriptedUpstream } from '../../support/upstream/scripted-upstream.ts'
import { everyProtocol, type SpokenProtocol, spoken } from '../../support/upstream/spoken-protocols.ts'
import { dialectOf } from './setup.ts'

/** A client's format: where it calls, what it sends, and how it receives an error. */
interface Format {
  readonly path: (stream: boolean) => string
  readonly body: (text: string) => object
  /** Fields of an error besides its message. */
  readonly error: (error: object) => object
}

const user = (content: string) => [{ role: 'user', content }]

const formats = {
  messages: {
    path: () => '/v1/messages',
    body: text => ({ max_tokens: 512, messages: user(text) }),
    error: error => ({ type: 'error', error }),
  },
  chat: {
    path: () => '/v1/chat/completions',
    body: text => ({ messages: user(text) }),
    error: error => ({ error: { ...error, param: null, code: 'blocked_by_hook' } }),
  },
  responses: {
    path: () => '/v1/responses',
    body: text => ({ input: text }),
    error: error => ({ error: { ...error, param: null, code: 'blocked_by_hook' } }),
  },
  gemini: {
    path: stream => `/v1beta/models/test-model:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: text => ({ contents: [{ role: 'user', parts: [{ text }] }] }),
    error: ({ message }: { message?: string }) => ({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }),
  },
} as const satisfies Readonly<Record<string, Format>>
type FormatName = keyof typeof formats
const formatNames = Object.keys(formats) as FormatName[]

/** The models behind which all cases run, one for each protocol. */
const upstreams = new Map<SpokenProtocol, ScriptedUpstream>()
const script: Script = [{ text: 'open sesame' }]
for (const protocol of everyProtocol)
  upstreams.set(protocol, await startScriptedUpstream({ dialect: dialectOf(protocol), script }))
after(() => Promise.all([...upstreams.values()].map(upstream => upstream.stop())))

interface Place {
  readonly protocol: SpokenProtocol
  readonly hooks: (url: string) => readonly Hook[]
  readonly answer: Parameters<HookServer['answer']>[0]
}

/** A gateway with hooks before a model, and one hook server that is asked by all of them. */
async function start({ protocol, hooks, answer }: Place) {
  const hook = await startHookServer()
  hook.answer(answer)
  const upstream = upstreams.get(protocol) ?? assert.fail(protocol)
  const { provider, model } = spoken[protocol]
  const deployment = deploymentAt(upstream.url, { protocols: [protocol], provider, upstreamModel: model })
  const allow = [hook.host, new URL(upstream.url).host]
  const app = await startGatewayApp({ deployments: [deployment], demo: false, hooks: hooks(hook.url), allow })
  const before = upstream.requests.length
  return {
    hook,
    app,
    sent: () => upstream.requests.slice(before).map(({ rawBody }) => rawBody.toString()),
    call: async (name: FormatName, text: string, stream = false) => {
      const { path, body } = formats[name]
      const named = name === 'gemini' ? {} : { model: 'test-model', ...(stream && { stream }) }
      const response = await app.post({ ...named, ...body(text) }, { path: path(stream) })
      return { response, text: await response.text() }
    },
    stop: () => Promise.all([app.stop(), hook.stop()]),
  }
}

const blocked = { action: 'block', message: 'no secrets, please' }

/** Every client format before every upstream, with one gateway for all formats. */
function everywhere(name: string, place: Omit<Place, 'protocol'>, check: (at: Checked) => Promise<void>): void {
  for (const protocol of everyProtocol) {
    test(`${name}, ${protocol}`, async t => {
      const started = await start({ ...place, protocol })
      for (const format of formatNames) {
        started.hook.answer(place.answer)
        await t.test(format, () => check({ ...started, format }))
      }
      await started.stop()
    })
  }
}

type Checked = Awaited<ReturnType<typeof start>> & { readonly format: FormatName }

const both = (url: string) => [hookAt(url), hookAt(url, { name: 'after', phase: 'post', bufferStream: true })]

everywhere(
  'A1: hooks that allow are asked before and after a call',
  { hooks: both, answer: { action: 'allow' } },
  async ({ format, call, hook }) => {
    for (const stream of [false, true]) {
      const before = hook.got.length
      const { response, text } = await call(format, 'hello', stream)
      assert.equal(response.status, 200, text)
      const [pre, post] = hook.got.slice(before).map(({ asked }) => asked)
      assert.deepEqual([pre?.phase, post?.phase], ['pre', 'post'])
      assert.deepEqual([pre?.call.kind, pre?.call.model, pre?.call['stream']], [format, 'test-model', stream])
      assert.match(JSON.stringify(pre?.call.body), /hello/)
      assert.equal(post?.response?.['outcome'], 'completed')
      assert.match(JSON.stringify(stream ? post?.response?.events : post?.response?.body), /open sesame|open|sesame/)
    }
  },
)

everywhere(
  'A2: a hook that blocks a request spares its upstream, in the client’s own envelope',
  { hooks: url => [hookAt(url)], answer: blocked },
  async ({ format, call, sent, app }) => {
    for (const stream of [false, true]) {
      const { response, text } = await call(format, 'hello', stream)
      assert.deepEqual([response.status, response.headers.get('x-switchyard-hook')], [400, 'guard'])
      assert.equal(response.headers.get('x-switchyard-error-source'), 'gateway')
      const { request_id: _, ...body } = JSON.parse(text) as Record<string, unknown>
      const error = { message: 'no secrets, please', type: 'invalid_request_error' }
      assert.deepEqual(body, formats[format].error(error))
    }
    assert.deepEqual([sent(), app.booked], [[], []])
  },
)

everywhere(
  'A3: the upstream gets the body that a hook gave in place of the client’s',
  { hooks: url => [hookAt(url)], answer: masking('secret') },
  async ({ format, call, sent }) => {
    for (const stream of [false, true]) {
      const { response, text } = await call(format, 'my secret word', stream)
      assert.equal(response.status, 200, text)
      assert.match(text, /^data: |^event: |^\{/)
      assert.equal(text.startsWith('{'), !stream, 'stream stays as the client has it')
      const body = sent().at(-1) ?? ''
      assert.ok(body.includes('my [masked] word') && !body.includes('secret'), body)
    }
  },
)

everywhere(
  'A4: an answer that a hook blocks never reaches the client, and is booked',
  { hooks: url => [hookAt(url, { phase: 'post', bufferStream: true })], answer: blocked },
  async ({ format, call, app }) => {
    for (const stream of [false, true]) {
      const before = app.booked.length
      const { response, text } = await call(format, 'hello', stream)
      assert.deepEqual([response.status, /sesame/.test(text), /no secrets, please/.test(text)], [400, false, true])
      await app.bookedCalls(before + 1)
      assert.deepEqual([app.booked.at(-1)?.outcome, app.booked.at(-1)?.status], ['completed', 200])
      assert.ok((app.booked.at(-1)?.output_tokens ?? 0) > 0)
    }
  },
)

everywhere(
  'A5: the client gets the answer that a hook gave, whole or as events',
  { hooks: url => [hookAt(url, { phase: 'post', bufferStream: true })], answer: masking('sesame') },
  async ({ format, call, hook }) => {
    const whole = await call(format, 'hello')
    assert.equal(whole.response.headers.get('content-length'), String(Buffer.byteLength(whole.text)))
    assert.match(whole.response.headers.get('content-type') ?? '', /^application\/json/)
    assert.match(whole.text, /open \[masked\]/)

    hook.answer({ action: 'allow' })
    const before = await call(format, 'hello', true)
    hook.answer(({ response }) => ({ action: 'replace', body: response?.events }))
    const { response, text } = await call(format, 'hello', true)
    assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/)
    assert.deepEqual(framing(text), framing(before.text))
  },
)

/** Which events a stream has, and how it ends: ids and times differ from call to call. */
const framing = (text: string): string[] =>
  text
    .split('\n')
    .map(line => (line.startsWith('data: {') ? `data of ${Object.keys(JSON.parse(line.slice(6)))}` : line))

everywhere(
  'A6: a stream that is not held reaches the client as it comes, and the hook is told of it afterwards',
  { hooks: url => [hookAt(url, { phase: 'post' })], answer: blocked },
  async ({ format, call, hook }) => {
    const before = hook.got.length
    const { response, text } = await call(format, 'hello', true)
    assert.deepEqual([response.status, /sesame/.test(text)], [200, true])
    await hook.asked(before + 1)
    const { asked } = hook.last()
    assert.deepEqual([asked.phase, asked.response?.['outcome']], ['post', 'completed'])
    assert.match(JSON.stringify(asked.response?.events), /sesame/)
  },
)
