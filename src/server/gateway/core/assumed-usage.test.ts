import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { deploymentAt, startGatewayApp } from '../../../../test/support/gateway/gateway-app.ts'
import { startScriptedUpstream } from '../../../../test/support/upstream/scripted-upstream.ts'
import { everyProtocol, type SpokenProtocol, spoken } from '../../../../test/support/upstream/spoken-protocols.ts'

const words = 'one two three four five six seven eight nine ten '.repeat(20)
const chat = { messages: [{ role: 'user', content: words }] }
const google = { contents: [{ role: 'user', parts: [{ text: words }] }], generationConfig: { maxOutputTokens: 64 } }

/** A request of each format, and where it goes; `MODEL` stands for the model. */
const formats = {
  messages: { path: '/v1/messages', body: { ...chat, model: 'MODEL', max_tokens: 64 } },
  chat: { path: '/v1/chat/completions', body: { ...chat, model: 'MODEL', max_completion_tokens: 64 } },
  responses: { path: '/v1/responses', body: { model: 'MODEL', input: words, max_output_tokens: 64 } },
  gemini: { path: '/v1beta/models/MODEL:generateContent', body: google },
  embeddings: { path: '/v1/embeddings', body: { model: 'MODEL', input: words } },
} as const
type Format = keyof typeof formats

interface Options {
  /** As many that `max_tokens` is reached in any time, by default. */
  readonly outputTokensPerSecond?: number
  readonly totalMs?: number
}

/** A gateway before a scripted upstream of `protocol`, whose model costs a dollar a token. */
async function pair(protocol: SpokenProtocol, { outputTokensPerSecond = 1e12, totalMs = 10_000 }: Options = {}) {
  const upstream = await startScriptedUpstream({ script: [{ text: 'Hello' }], dialect: spoken[protocol].dialect })
  const isOpenAi = protocol.startsWith('openai-')
  const app = await startGatewayApp({
    assumedOutputTokensPerSecond: outputTokensPerSecond,
    router: { retries: 0 },
    deployments: [
      deploymentAt(isOpenAi ? `${upstream.url}/v1` : upstream.url, {
        alias: 'm',
        upstreamModel: spoken[protocol].model,
        provider: spoken[protocol].provider,
        protocols: [protocol],
        prices: { input: 1, output: 1 },
        timeouts: { connectMs: 1_000, firstByteMs: totalMs, idleMs: totalMs, totalMs },
      }),
    ],
  })
  after(async () => {
    await app.stop()
    await upstream.stop()
  })
  const ask = (format: Format, { stream = false, signal }: { stream?: boolean; signal?: AbortSignal } = {}) => {
    const { path, body } = formats[format]
    const sent = stream && format !== 'gemini' ? { ...body, stream } : body
    const address = stream ? path.replace(':generateContent', ':streamGenerateContent?alt=sse') : path
    const named = JSON.stringify(sent).replace('MODEL', 'm')
    return app.post(named, { path: address.replace('MODEL', 'm'), ...(signal && { signal }) })
  }
  return { ...app, upstream, ask }
}

/** Returns the row of a call whose client disconnects before the upstream sends anything. */
async function rowOfLeft(protocol: SpokenProtocol, format: Format, options: Options & { stream?: boolean } = {}) {
  const { upstream, ask, booked, bookedCalls } = await pair(protocol, options)
  upstream.hold()
  const gone = new AbortController()
  const answer = ask(format, { stream: options.stream ?? false, signal: gone.signal })
  await upstream.received(1)
  gone.abort()
  await answer.catch(() => undefined)
  await bookedCalls(1)
  return booked[0]
}

const answered = (Object.keys(formats) as Format[]).filter(format => format !== 'embeddings')
for (const protocol of everyProtocol) {
  test(`V4: a call aborted before its first byte is booked with its possible cost, at ${protocol}`, async () => {
    for (const [format, stream] of answered.flatMap(format => [[format, false] as const, [format, true] as const])) {
      const row = await rowOfLeft(protocol, format, { stream })
      assert.deepEqual([row?.outcome, row?.estimated, row?.output_tokens], ['aborted', true, 64], format)
      assert.ok(row && row.input_tokens > 150 && row.input_tokens < 600, `${format}: ${row?.input_tokens} of input`)
      assert.equal(Number(row.cost_usd), row.input_tokens + 64)
    }
  })
}

test('V4: aborted embeddings are booked with their input', async () => {
  const gone = new AbortController()
  const silent = createServer(() => gone.abort())
  await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve))
  const { port } = silent.address() as AddressInfo
  const app = await startGatewayApp({
    assumedOutputTokensPerSecond: 1e12,
    deployments: [
      deploymentAt(`http://127.0.0.1:${port}`, { protocols: ['openai-chat'], prices: { input: 1, output: 1 } }),
    ],
  })
  after(async () => {
    await app.stop()
    silent.closeAllConnections()
    silent.close()
  })
  const body = { ...formats.embeddings.body, model: 'test-model' }
  await app.post(body, { path: formats.embeddings.path, signal: gone.signal }).catch(() => undefined)
  await app.bookedCalls(1)
  const [row] = app.booked
  assert.deepEqual([row?.outcome, row?.estimated, row?.output_tokens], ['aborted', true, 0])
  assert.ok(row && row.input_tokens > 150 && Number(row.cost_usd) > 0)
})

test('V4: the assumed output follows from the upstream’s time', async () => {
  const row = await rowOfLeft('anthropic-messages', 'messages', { outputTokensPerSecond: 0 })
  assert.deepEqual([row?.estimated, row?.output_tokens], [true, 0])
})

test('V4: the assumed output of a call without max_tokens is at most the model’s maximum', async () => {
  const { upstream, post, booked, bookedCalls } = await pair('openai-responses')
  upstream.hold()
  const gone = new AbortController()
  const left = post({ model: 'm', input: words }, { path: '/v1/responses', signal: gone.signal })
  await upstream.received(1)
  gone.abort()
  await left.catch(() => undefined)
  await bookedCalls(1)
  assert.equal(booked[0]?.output_tokens, 128_000)
})

for (const stream of [false, true]) {
  test(`V4: a call that times out is booked, ${stream ? 'streamed' : 'not streamed'}`, async () => {
    const { upstream, ask, booked, bookedCalls } = await pair('anthropic-messages', { totalMs: 100 })
    upstream.hold()
    const { status } = await ask('messages', { stream })
    await bookedCalls(1)
    assert.deepEqual([status, booked[0]?.outcome, booked[0]?.output_tokens], [504, 'failed', 64])
  })
}

test('V4: a call that no upstream accepted is free: an upstream error, an unreachable upstream', async () => {
  const { upstream, ask, booked, bookedCalls } = await pair('anthropic-messages')
  await upstream.stop()
  await ask('messages')
  const refusing = await startScriptedUpstream({ script: [{ status: 429, body: '{}' }] })
  after(() => refusing.stop())
  const app = await startGatewayApp({
    assumedOutputTokensPerSecond: 1e12,
    router: { retries: 0 },
    deployments: [deploymentAt(refusing.url, { prices: { input: 1, output: 1 } })],
  })
  after(() => app.stop())
  await app.post({ ...formats.messages.body, model: 'test-model' })
  await Promise.all([bookedCalls(1), app.bookedCalls(1)])
  for (const row of [booked[0], app.booked[0]])
    assert.deepEqual([row?.outcome, row?.input_tokens, row?.output_tokens, Number(row?.cost_usd)], ['failed', 0, 0, 0])
})
