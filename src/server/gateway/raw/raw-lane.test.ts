import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { readStream } from '../../../../test/support/event-grammar.ts'
import { deploymentAt, startGatewayApp } from '../../../../test/support/gateway-app.ts'
import { type Script, startScriptedUpstream } from '../../../../test/support/scripted-upstream.ts'
import type { Deployment } from '../../config/config.ts'

const ask = { model: 'test-model', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] }
const streamed = { ...ask, stream: true }

/** A gateway in front of a scripted upstream; both end with the file. */
async function pair(
  script: Script,
  {
    deployment = {},
    ...options
  }: { deployment?: Partial<Deployment>; pingAfterMs?: number; maxStreams?: number; countTokens?: 'absent' } = {},
) {
  const { countTokens, ...rest } = options
  const upstream = await startScriptedUpstream({ script, ...(countTokens && { countTokens }) })
  const apiBase = `${upstream.url}${deployment.apiBase ?? ''}`
  const app = await startGatewayApp({ deployments: [deploymentAt(upstream.url, { ...deployment, apiBase })], ...rest })
  after(async () => {
    await app.stop()
    await upstream.stop()
  })
  return { upstream, ...app }
}

/** A gateway in front of a plain server that answers any bytes. */
async function rawPair(
  listener: RequestListener,
  options: { pingAfterMs?: number; deployment?: Partial<Deployment> } = {},
) {
  const server = createServer(listener)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const { deployment, ...rest } = options
  const app = await startGatewayApp({ deployments: [deploymentAt(`http://127.0.0.1:${port}`, deployment)], ...rest })
  after(async () => {
    await app.stop()
    server.closeAllConnections()
    server.close()
  })
  return app
}

const textOf = async (answer: Response) => readStream(await answer.text())

test('POST /v1/messages relays an answer, and tells deployment, attempts and request', async () => {
  const { post, upstream } = await pair([{ text: 'Hello' }])
  const answer = await post(ask)
  assert.equal(answer.status, 200)
  const body = (await answer.json()) as { content: unknown; model: string }
  assert.deepEqual(body.content, [{ type: 'text', text: 'Hello' }])
  assert.equal(answer.headers.get('x-switchyard-deployment'), 'test.1')
  assert.equal(answer.headers.get('x-switchyard-attempts'), '1')
  assert.match(answer.headers.get('x-switchyard-request-id') ?? '', /^req_/)
  assert.equal(answer.headers.get('request-id'), 'req_upstream_0')
  assert.equal(upstream.requests[0]?.rawBody.toString(), JSON.stringify(ask))
})

test('G4: POST /v1/messages streams: the first frames are there while the upstream still waits', async () => {
  const { post, upstream } = await pair([{ text: 'Hello', holdAtFrame: 3 }])
  const answer = await post(streamed)
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes('content_block_start')) text += (await reader?.read())?.value
  assert.ok(!text.includes('message_stop'))
  upstream.release()
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) text += part.value
  const { stopReason, text: said } = readStream(text)
  assert.deepEqual([said, stopReason], ['Hello', 'end_turn'])
})

test('R1, R2, S3: response bytes equal the upstream’s, with pings, comments, odd spacing and unknown events', async () => {
  const body = [
    ': hello\n\n',
    'event: message_start\r\ndata: {"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":1}}}\r\n\r\n',
    'event:ping\ndata:{"type": "ping"}\n\n',
    'id: 7\nevent: from_the_future\ndata: {"type":"from_the_future",\ndata: "x": 1.0}\n\n\n\n',
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"new_kind","é":"😀"}}\n\n',
    'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"pause_turn"},"usage":{"output_tokens":1e1}}\n\n',
    'event: message_stop\ndata: {"type":"message_stop"}\n\n: the end',
  ].join('')
  const bytes = Buffer.from(body)
  const app = await rawPair(async (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let at = 0; at < bytes.length; at += 7) {
      await new Promise(done => response.write(bytes.subarray(at, at + 7), done))
    }
    response.end()
  })
  const answer = await app.post(streamed)
  assert.equal(Buffer.from(await answer.arrayBuffer()).toString(), body)
  const [row] = app.booked
  assert.deepEqual(
    [row?.input_tokens, row?.output_tokens, row?.stop_reason, row?.outcome],
    [3, 10, 'pause_turn', 'completed'],
  )
})

test('R1: bytes of a non-streamed answer are not touched, unknown fields and number spellings included', async () => {
  const body =
    '{ "type":"message","usage" : {"input_tokens":1.0,"output_tokens":2e0},"new":[1e5, 123456789012345678901234567890] }\n'
  const { post, booked, bookedCalls } = await pair([{ body }])
  assert.equal(await (await post(ask)).text(), body)
  await bookedCalls(1)
  assert.equal(booked[0]?.output_tokens, 2)
})

test('R3: where an alias maps, only the model string differs upstream', async () => {
  const { post, upstream } = await pair([{}], { deployment: { upstreamModel: 'claude-real' } })
  const rest =
    '"temperature":1.0, "big":123456789012345678901234567890,"e":1e5,"u":"\\u00e9\\/é","messages":[{"role":"user","content":"model"}]}'
  await post(`{"metadata":{"model":"test-model"}, "max_tokens" :10,"model"\t:"test-model",${rest}`)
  assert.equal(
    upstream.requests[0]?.rawBody.toString(),
    `{"metadata":{"model":"test-model"}, "max_tokens" :10,"model"\t:"claude-real",${rest}`,
  )
})

test('R4: a custom base keeps its path prefix', async () => {
  const { post, upstream } = await pair([{}], { deployment: { apiBase: '/some/prefix', provider: 'acme' } })
  assert.equal((await post(ask)).status, 200)
  assert.equal(upstream.requests[0]?.url, '/some/prefix/v1/messages')
})

test('G1, G2, G3: the query and all open headers go on; credentials of the caller and hop-by-hop headers do not', async () => {
  const { post, upstream, booked, bookedCalls } = await pair([{}])
  const session = {
    'x-claude-code-session-id': 's1',
    'x-claude-code-agent-id': 'a1',
    'x-claude-code-parent-agent-id': 'p1',
  }
  const open = {
    'anthropic-beta': 'one-2025,two-2026',
    'anthropic-version': '2026-10-21',
    'anthropic-workspace-id': 'w',
    ...session,
  }
  const closed = {
    authorization: 'Bearer caller-key',
    'x-api-key': 'caller-key',
    cookie: 'a=b',
    'x-switchyard-fallbacks': 'x',
  }
  await post(ask, { path: '/v1/messages?beta=true&key=caller-key', headers: { ...open, ...closed } })
  const [request] = upstream.requests
  assert.equal(request?.url, '/v1/messages?beta=true')
  for (const [name, value] of Object.entries(open)) assert.equal(request?.headers[name], value)
  assert.equal(request?.headers['x-api-key'], 'sk-provider-canary-0001')
  assert.equal(request?.headers['accept-encoding'], 'identity')
  for (const name of ['authorization', 'cookie', 'x-switchyard-fallbacks'])
    assert.equal(request?.headers[name], undefined)
  await bookedCalls(1)
  const { client_session_id, client_agent_id, client_parent_id } = booked[0] ?? {}
  assert.deepEqual([client_session_id, client_agent_id, client_parent_id], ['s1', 'a1', 'p1'])
})

test('the version header has a default, and a deployment can bring its own credential', async () => {
  const { post, upstream } = await pair([{}], {
    deployment: { headers: { authorization: 'Bearer own', 'x-team': 'a' } },
  })
  await post(ask)
  const headers = upstream.requests[0]?.headers
  assert.deepEqual(
    [headers?.['anthropic-version'], headers?.authorization, headers?.['x-api-key'], headers?.['x-team']],
    ['2023-06-01', 'Bearer own', undefined, 'a'],
  )
})

test('E2, E3, G8: an upstream error arrives unchanged, with its status, retry-after and rate limits', async () => {
  const body =
    '{"type":"error", "error":{"type":"rate_limit_error","message":"thinking.signature: é"},"request_id":"req_1"}'
  const headers = {
    'retry-after': '7',
    'anthropic-ratelimit-requests-remaining': '0',
    'set-cookie': 'a=b',
    'x-internal': '1',
  }
  const { post, booked } = await pair([{ status: 429, body, headers }])
  const answer = await post(streamed)
  assert.equal(answer.status, 429)
  assert.equal(await answer.text(), body)
  assert.equal(answer.headers.get('retry-after'), '7')
  assert.equal(answer.headers.get('anthropic-ratelimit-requests-remaining'), '0')
  assert.equal(answer.headers.get('x-switchyard-error-source'), 'upstream')
  assert.equal(answer.headers.get('set-cookie'), null)
  assert.equal(answer.headers.get('x-internal'), null)
  assert.deepEqual([booked[0]?.outcome, booked[0]?.status], ['failed', 429])
})

test('E10, S40: an upstream that echoes our key in an error does not give it away', async () => {
  const { post } = await pair([
    { status: 401, body: '{"error":"bad key sk-provider-canary-0001, sk-provider-canary-0001"}' },
  ])
  assert.equal(await (await post(ask)).text(), '{"error":"bad key [secret], [secret]"}')
})

test('an error body is read up to 1 MB', async () => {
  const { post } = await pair([{ status: 500, body: 'x'.repeat(3_000_000) }])
  assert.equal((await (await post(ask)).text()).length, 1024 * 1024)
})

test('E1, E10: an upstream that cannot be reached is 502 in Anthropic’s envelope, and names no host', async () => {
  const upstream = await startScriptedUpstream()
  await upstream.stop()
  const app = await startGatewayApp({ deployments: [deploymentAt(upstream.url)] })
  after(() => app.stop())
  const answer = await app.post(streamed)
  const text = await answer.text()
  const body = JSON.parse(text)
  assert.equal(answer.status, 502)
  assert.deepEqual([body.type, body.error.type], ['error', 'api_error'])
  assert.equal(body.request_id, answer.headers.get('request-id'))
  assert.equal(answer.headers.get('x-switchyard-error-source'), 'gateway')
  assert.ok(!text.includes('127.0.0.1') && !text.includes(String(upstream.port)) && !text.includes('sk-'), text)
  assert.deepEqual([app.booked[0]?.outcome, app.booked[0]?.status], ['failed', 502])
})

test('S21: a private address that outbound.allow does not list is not called', async () => {
  const upstream = await startScriptedUpstream()
  const app = await startGatewayApp({ deployments: [deploymentAt(upstream.url)], allow: [] })
  after(async () => {
    await app.stop()
    await upstream.stop()
  })
  const answer = await app.post(ask)
  assert.equal(answer.status, 502)
  assert.match(await answer.text(), /may not call/)
  assert.equal(upstream.requests.length, 0)
})

test('an upstream that is silent past its time-out is 504', async () => {
  const timeouts = { connectMs: 1_000, firstByteMs: 100, idleMs: 5_000, totalMs: 10_000 }
  const { post, upstream } = await pair([{}], { deployment: { timeouts } })
  upstream.hold()
  const answer = await post(streamed)
  const body = (await answer.json()) as { error: { type: string } }
  assert.deepEqual([answer.status, body.error.type], [504, 'timeout_error'])
})

test('the total time-out ends a call without a stream, and a stream by an error event', async () => {
  const timeouts = { connectMs: 1_000, firstByteMs: 5_000, idleMs: 5_000, totalMs: 150 }
  const { post, upstream } = await pair([{ text: 'Hello', holdAtFrame: 4 }, { delayMs: 600 }], {
    deployment: { timeouts },
  })
  const { error } = await textOf(await post(streamed))
  assert.equal(error?.type, 'timeout_error')
  upstream.release()
  assert.equal((await post(ask)).status, 504)
})

for (const [name, cut] of [
  ['resets the connection', { resetAfterBytes: 700 }],
  ['ends cleanly but too early', { cutAfterBytes: 700 }],
] as const) {
  test(`E5, S4: an upstream that ${name} in mid-stream ends it by one error event, never by a stop`, async () => {
    const { post, booked, bookedCalls } = await pair([{ text: 'A long story. '.repeat(20), ...cut }])
    const { error, stopReason, text, events } = await textOf(await post(streamed))
    assert.equal(error?.type, 'api_error')
    assert.equal(stopReason, undefined)
    assert.ok(text.length > 0)
    assert.equal(events.filter(({ type }) => type === 'message_stop').length, 0)
    await bookedCalls(1)
    const { outcome, estimated, input_tokens, output_tokens } = booked[0] ?? {}
    assert.deepEqual([outcome, estimated, input_tokens], ['failed', true, 25])
    assert.ok((output_tokens ?? 0) > 0)
  })
}

test('an upstream that breaks a non-streamed answer off is 502, not half a body', async () => {
  const { post } = await pair([{ text: 'Hello', resetAfterBytes: 50 }])
  assert.equal((await post(ask)).status, 502)
})

test('an upstream’s own error event passes as it came, and is booked as failed', async () => {
  const body = [
    'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":1}}}\n\n',
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
  ].join('')
  const app = await rawPair((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(body)
  })
  assert.equal(await (await app.post(streamed)).text(), body)
  assert.equal(app.booked[0]?.outcome, 'failed')
})

test('E7: a silent upstream is covered by pings once message_start is out', async () => {
  const { post, upstream } = await pair(
    [{ tool_calls: [{ name: 'bash', input: { command: 'ls' } }], holdAtFrame: 5 }],
    { pingAfterMs: 20 },
  )
  const answer = await post(streamed)
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (text.split('event: ping').length < 5) text += (await reader?.read())?.value
  upstream.release()
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) text += part.value
  assert.deepEqual(readStream(text).content[0]?.['input'], { command: 'ls' })
})

test('E7: no ping comes before message_start', async () => {
  const { post, upstream } = await pair([{ text: 'Hello', holdAtFrame: 0 }], { pingAfterMs: 10 })
  const answer = await post(streamed)
  await new Promise(resolve => setTimeout(resolve, 60))
  upstream.release()
  const { events } = await textOf(answer)
  assert.equal(events[0]?.type, 'message_start')
})

test('E8: pings of the upstream restart the idle time-out', async () => {
  const frames = (upTo: number) => Array.from({ length: upTo }, () => 'event: ping\ndata: {"type":"ping"}\n\n')
  const timeouts = { connectMs: 1_000, firstByteMs: 5_000, idleMs: 300, totalMs: 10_000 }
  const app = await rawPair(
    async (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const frame of frames(12)) {
        response.write(frame)
        await new Promise(resolve => setTimeout(resolve, 50))
      }
      response.end('event: message_stop\ndata: {"type":"message_stop"}\n\n')
    },
    { deployment: { timeouts } },
  )
  const text = await (await app.post(streamed)).text()
  assert.ok(text.endsWith('message_stop"}\n\n'), text.slice(-200))
})

const phases = [
  ['before the first byte', streamed, undefined],
  ['in mid-stream', streamed, 4],
  ['of a call without a stream', ask, undefined],
] as const

for (const [phase, body, holdAtFrame] of phases) {
  test(`E9, U8: a client that leaves ${phase} ends the upstream call within 1 s, and is booked`, async () => {
    const { post, upstream, booked, bookedCalls } = await pair([
      { text: 'Hello', ...(holdAtFrame !== undefined && { holdAtFrame }) },
    ])
    if (holdAtFrame === undefined) upstream.hold()
    const gone = new AbortController()
    const answer = post(body, { signal: gone.signal })
    await upstream.received(1)
    if (holdAtFrame !== undefined) await (await answer).body?.getReader().read()
    const started = performance.now()
    gone.abort()
    await answer.catch(() => undefined)
    await upstream.requests[0]?.closed
    assert.ok(performance.now() - started < 1_000)
    await bookedCalls(1)
    assert.equal(booked[0]?.outcome, 'aborted')
    assert.equal(booked[0]?.input_tokens, holdAtFrame === undefined ? 0 : 25)
  })
}

test('a client that reads slowly holds the upstream back, and memory stays bounded', async () => {
  const chunk = Buffer.from(`event: big\ndata: ${'x'.repeat(60_000)}\n\n`)
  let sent = 0
  const app = await rawPair(async (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (; sent < 2_000 && !response.destroyed; sent++) {
      if (!response.write(chunk)) await once(response, 'drain')
    }
    response.end()
  })
  const gone = new AbortController()
  const answer = await app.post(streamed, { signal: gone.signal })
  const reader = answer.body?.getReader()
  await reader?.read()
  let before = -1
  while (before !== sent) {
    before = sent
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  assert.ok(sent < 1_000, `${sent} chunks of 60 KB went out to a client that does not read`)
  for (let at = 0; at < 50; at++) await reader?.read()
  gone.abort()
})

test('a full process answers 529 with retry-after, and takes calls again after a stream has ended', async () => {
  const { post, upstream, gateway } = await pair([{ text: 'Hello', holdAtFrame: 3 }, {}], { maxStreams: 1 })
  const first = await post(streamed)
  const second = await post(streamed)
  const body = (await second.json()) as { error: { type: string } }
  assert.deepEqual([second.status, body.error.type, second.headers.get('retry-after')], [529, 'overloaded_error', '2'])
  assert.equal((await post(ask)).status, 200)
  upstream.release()
  await first.text()
  assert.equal(gateway.streams, 0)
  assert.equal((await post(streamed)).status, 200)
})

test('POST /v1/messages/count_tokens: the upstream counts, and nothing is booked', async () => {
  const { post, upstream, booked } = await pair([{}], { deployment: { upstreamModel: 'real' } })
  const answer = await post(
    { model: 'test-model', messages: ask.messages },
    { path: '/v1/messages/count_tokens?beta=true' },
  )
  assert.deepEqual(await answer.json(), { input_tokens: 42 })
  assert.equal(answer.headers.get('x-switchyard-estimated'), null)
  assert.equal(upstream.countRequests[0]?.url, '/v1/messages/count_tokens?beta=true')
  assert.equal(upstream.countRequests[0]?.body['model'], 'real')
  assert.equal(booked.length, 0)
})

test('C5: without a route upstream the count is an estimate, and says so; it covers system, tools, images, documents', async () => {
  const { post } = await pair([{}], { countTokens: 'absent' })
  const count = async (body: object) => {
    const answer = await post({ model: 'test-model', ...body }, { path: '/v1/messages/count_tokens' })
    assert.equal(answer.headers.get('x-switchyard-estimated'), 'input_tokens')
    return ((await answer.json()) as { input_tokens: number }).input_tokens
  }
  const plain = await count({ messages: ask.messages })
  const source = { type: 'base64', media_type: 'image/png', data: 'x'.repeat(100_000) }
  const withImage = await count({ messages: [{ role: 'user', content: [{ type: 'image', source }] }] })
  const withDocument = await count({ messages: [{ role: 'user', content: [{ type: 'document', source }] }] })
  assert.ok(plain > 0 && plain < 50)
  assert.ok((await count({ messages: ask.messages, system: 'word '.repeat(100) })) > plain + 100)
  assert.ok(
    (await count({
      messages: ask.messages,
      tools: [{ name: 'bash', input_schema: { description: 'y'.repeat(400) } }],
    })) >
      plain + 100,
  )
  assert.ok(withImage > 1_000 && withImage < 3_000 && withDocument > 5_000 && withDocument < 20_000)
})
