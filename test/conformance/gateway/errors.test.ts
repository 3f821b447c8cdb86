import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploymentAt, startGatewayApp } from '../../support/gateway/gateway-app.ts'
import { readStream } from '../../support/sessions/event-grammar.ts'
import { startScriptedUpstream } from '../../support/upstream/scripted-upstream.ts'
import { everyProtocol } from '../../support/upstream/spoken-protocols.ts'
import { dialectOf, type Message, simple, startPair, tool, translated } from './setup.ts'

const secret = 'sk-provider-canary-0001'

const own: readonly (readonly [string, object | string, number, string, RegExp])[] = [
  ['a body that is no JSON', '{"model":', 400, 'invalid_request_error', /JSON/],
  ['a missing model', { ...simple }, 400, 'invalid_request_error', /model/],
  ['a wrong max_tokens', { model: 'test-model', ...simple, max_tokens: 0 }, 400, 'invalid_request_error', /max_tokens/],
  ['an unknown model', { model: 'nobody', ...simple }, 404, 'not_found_error', /nobody/],
]

for (const [what, body, status, type, message] of own) {
  test(`E1: ${what} gets the Anthropic envelope with ${status} ${type}`, async t => {
    const { app } = await startPair(t, 'openai-chat', { script: [{}] })
    const response = await app.post(body)
    assert.equal(response.status, status)
    const answer = (await response.json()) as {
      type: string
      error: { type: string; message: string }
      request_id: string
    }
    assert.deepEqual([answer.type, answer.error.type], ['error', type])
    assert.match(answer.error.message, message)
    assert.match(answer.request_id, /^req_/)
  })
}

const refusals = [
  [400, 'invalid_request_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [500, 'api_error'],
] as const

for (const protocol of translated) {
  for (const [status, type] of refusals) {
    test(`E2, ${protocol}: the upstream’s ${status} becomes one envelope of ${type}, with its words and no JSON in them`, async t => {
      const { request: ask } = await startPair(t, protocol, { script: [{ status, error: 'words of the upstream' }] })
      const answer = await ask<Message & { type: string; request_id: string }>()
      assert.deepEqual(
        [answer.type, answer.error?.type, answer.error?.message],
        ['error', type, 'words of the upstream'],
      )
      assert.match(answer.request_id, /^req_/)
    })
  }

  test(`E10, ${protocol}: no error text shows a key or the address of the upstream`, async t => {
    const pair = await startPair(t, protocol, { script: [{ status: 400, error: 'set by the test' }] })
    const host = new URL(pair.upstream.url).host
    const leaky = await startPair(t, protocol, { script: [{ status: 400, error: `bad key ${secret} at ${host}` }] })
    const text = JSON.stringify(await leaky.request())
    assert.ok(!text.includes(secret))
    assert.ok(!text.includes(new URL(leaky.upstream.url).host))
  })
}

for (const protocol of everyProtocol) {
  test(`E3, ${protocol}: retry-after reaches the client`, async t => {
    const script = [{ status: 429, error: 'slow down', headers: { 'retry-after': '47' } }]
    const { post } = await startPair(t, protocol, { script })
    const response = await post({})
    assert.equal(response.status, 429)
    assert.ok(Number(response.headers.get('retry-after')) > 40)
  })

  test(`E4, ${protocol}: an error event before any content is failed over, unseen`, async t => {
    const dialect = dialectOf(protocol)
    const bad = await startScriptedUpstream({ dialect, script: [{ breakAtFrame: 0 }] })
    const good = await startScriptedUpstream({ script: [{ text: 'from the second' }] })
    const app = await startGatewayApp({
      deployments: [
        deploymentAt(bad.url, { id: 'bad.1', protocols: [protocol], weight: 1, provider: 'openai-compatible' }),
        deploymentAt(good.url, { id: 'good.1', weight: 0 }),
      ],
    })
    t.after(async () => {
      await app.stop()
      await Promise.all([bad.stop(), good.stop()])
    })
    const response = await app.post({ model: 'test-model', ...simple, stream: true })
    const { text, error } = readStream(await response.text())
    assert.deepEqual([text, error], ['from the second', undefined])
    assert.equal(response.headers.get('x-switchyard-deployment'), 'good.1')
    assert.equal(response.headers.get('x-switchyard-attempts'), '2')
  })

  test(`E5, ${protocol}: an error after content is one error event, then the end, booked as failed`, async t => {
    const { stream, app } = await startPair(t, protocol, { script: [{ text: 'x'.repeat(200), breakAtFrame: 9 }] })
    const { error, events, text } = await stream()
    assert.ok(error && error.message !== '' && text.length > 0)
    assert.equal(events.at(-1)?.type, 'error')
    assert.ok(!events.some(({ type }) => type === 'message_delta' || type === 'message_stop'))
    await app.bookedCalls(1)
    assert.equal(app.booked[0]?.outcome, 'failed')
  })

  test(`E7, ${protocol}: a silent upstream is covered by pings once message_start is out, also within a tool call`, async t => {
    const script = [{ tool_calls: [{ name: 'look', input: { what: 'x'.repeat(200) } }], pauseAtFrame: 4 }]
    const { post, upstream } = await startPair(t, protocol, { script, pingAfterMs: 20 })
    const response = await post({ tools: [tool], stream: true })
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (!text.includes('event: ping\ndata: {"type": "ping"}')) {
      const { value, done } = (await reader?.read()) ?? { done: true }
      assert.ok(!done, text)
      text += value
      // Gemini’s call comes whole, behind the buffered frame: nothing can be shown before it.
      if (protocol === 'gemini') break
    }
    upstream.release()
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) text += part.value
    assert.equal(readStream(text).stopReason, 'tool_use')
  })

  test(`E9, ${protocol}: a client that leaves ends the upstream call: before content, in mid-stream, without a stream`, async t => {
    for (const [body, pauseAtFrame] of [
      [{ stream: true }, 0],
      [{ stream: true }, 5],
      [{}, 0],
    ] as const) {
      const { post, upstream, app } = await startPair(t, protocol, {
        script: [{ text: 'x'.repeat(300), pauseAtFrame }],
      })
      const leaving = new AbortController()
      const response = post(body, { signal: leaving.signal }).then(
        answer => (pauseAtFrame > 0 ? answer.body?.getReader().read() : undefined),
        () => undefined,
      )
      await upstream.received(1)
      if (pauseAtFrame > 0) await response
      leaving.abort()
      await upstream.requests[0]?.closed
      await app.bookedCalls(1)
      assert.equal(app.booked[0]?.outcome, 'aborted')
    }
  })
}

for (const [format, path, body] of [
  ['Anthropic', '/v1/messages', { model: 'test-model', ...simple }],
  ['Gemini', '/v1beta/models/test-model:generateContent', { contents: [{ parts: [{ text: 'hi' }] }] }],
] as const) {
  test(`E3, gemini: the wait that Google states in its error reaches a client of ${format} as retry-after`, async t => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '45.837906927s' }]
    const error = { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'slow down', details }
    const { app } = await startPair(t, 'gemini', { script: [{ status: 429, body: JSON.stringify({ error }) }] })
    const response = await app.post(body, { path })
    assert.equal(response.status, 429)
    assert.equal(response.headers.get('retry-after'), '46')
    assert.match(await response.text(), /slow down/)
  })
}

test('E6: a streamed call to an upstream that cannot be reached fails at once with an error', async t => {
  const gone = await startScriptedUpstream()
  await gone.stop()
  for (const protocol of everyProtocol) {
    const app = await startGatewayApp({ deployments: [deploymentAt(gone.url, { protocols: [protocol] })] })
    t.after(app.stop)
    const response = await app.post({ model: 'test-model', ...simple, stream: true })
    assert.equal(response.status, 502, protocol)
    assert.equal(((await response.json()) as Message).error?.type, 'api_error')
  }
})

test('E8: any event of the upstream restarts the idle time-out', async t => {
  const timeouts = { connectMs: 1_000, firstByteMs: 2_000, idleMs: 1_200, totalMs: 10_000 }
  const frames = [...Array(6).fill(': keep-alive\n\n'), ...dialectOf('openai-chat').frames(short)]
  const { stream } = await startPair(t, 'openai-chat', {
    script: [{ frames, chunkDelayMs: 300 }],
    changes: { timeouts },
  })
  assert.equal((await stream()).text, 'late but whole')
})

const short = {
  id: 'late',
  type: 'message',
  role: 'assistant',
  model: 'any-model',
  content: [{ type: 'text', text: 'late but whole' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 5, output_tokens: 3 },
} as const
