import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pair, rawPair, simpleRequest, streamed } from '../../../../test/support/gateway/gateway-pair.ts'

test('POST /v1/messages relays a response and returns deployment, attempts and request id in headers', async () => {
  const { post, upstream } = await pair([{ text: 'Hello' }])
  const answer = await post(simpleRequest)
  assert.equal(answer.status, 200)
  const body = (await answer.json()) as { content: unknown; model: string }
  assert.deepEqual(body.content, [{ type: 'text', text: 'Hello' }])
  assert.equal(answer.headers.get('x-switchyard-deployment'), 'test.1')
  assert.equal(answer.headers.get('x-switchyard-attempts'), '1')
  assert.match(answer.headers.get('x-switchyard-request-id') ?? '', /^req_/)
  assert.equal(answer.headers.get('request-id'), 'req_upstream_0')
  assert.equal(upstream.requests[0]?.rawBody.toString(), JSON.stringify(simpleRequest))
})

test('R1, R2, S3: a stream is relayed byte for byte with pings, comments, odd spacing and unknown events', async () => {
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

test('R1: a whole response is relayed byte for byte with unknown fields and number spellings', async () => {
  const body =
    '{ "type":"message","usage" : {"input_tokens":1.0,"output_tokens":2e0},"new":[1e5, 123456789012345678901234567890] }\n'
  const { post, booked, bookedCalls } = await pair([{ body }])
  assert.equal(await (await post(simpleRequest)).text(), body)
  await bookedCalls(1)
  assert.equal(booked[0]?.output_tokens, 2)
})

test('R3: for a mapped alias only the model string of the request changes', async () => {
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
  assert.equal((await post(simpleRequest)).status, 200)
  assert.equal(upstream.requests[0]?.url, '/some/prefix/v1/messages')
})

test('G1, G2, G3: query and open headers are forwarded; caller credentials and hop-by-hop headers are not', async () => {
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
  await post(simpleRequest, { path: '/v1/messages?beta=true&key=caller-key', headers: { ...open, ...closed } })
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

test('the version header has a default, and a deployment’s own headers replace the credential', async () => {
  const { post, upstream } = await pair([{}], {
    deployment: { headers: { authorization: 'Bearer own', 'x-team': 'a' } },
  })
  await post(simpleRequest)
  const headers = upstream.requests[0]?.headers
  assert.deepEqual(
    [headers?.['anthropic-version'], headers?.authorization, headers?.['x-api-key'], headers?.['x-team']],
    ['2023-06-01', 'Bearer own', undefined, 'a'],
  )
})

test('POST /v1/messages/count_tokens returns the upstream’s count and books no call', async () => {
  const { post, upstream, booked } = await pair([{}], { deployment: { upstreamModel: 'real' } })
  const answer = await post(
    { model: 'test-model', messages: simpleRequest.messages },
    { path: '/v1/messages/count_tokens?beta=true' },
  )
  assert.deepEqual(await answer.json(), { input_tokens: 42 })
  assert.equal(answer.headers.get('x-switchyard-estimated'), null)
  assert.equal(upstream.countRequests[0]?.url, '/v1/messages/count_tokens?beta=true')
  assert.equal(upstream.countRequests[0]?.body['model'], 'real')
  assert.equal(booked.length, 0)
})

test('C5: without an upstream route the count is marked as estimated and covers system, tools, images and documents', async () => {
  const { post } = await pair([{}], { countTokens: 'absent' })
  const count = async (body: object) => {
    const answer = await post({ model: 'test-model', ...body }, { path: '/v1/messages/count_tokens' })
    assert.equal(answer.headers.get('x-switchyard-estimated'), 'input_tokens')
    return ((await answer.json()) as { input_tokens: number }).input_tokens
  }
  const plain = await count({ messages: simpleRequest.messages })
  const source = { type: 'base64', media_type: 'image/png', data: 'x'.repeat(100_000) }
  const withImage = await count({ messages: [{ role: 'user', content: [{ type: 'image', source }] }] })
  const withDocument = await count({ messages: [{ role: 'user', content: [{ type: 'document', source }] }] })
  assert.ok(plain > 0 && plain < 50)
  assert.ok((await count({ messages: simpleRequest.messages, system: 'word '.repeat(100) })) > plain + 100)
  assert.ok(
    (await count({
      messages: simpleRequest.messages,
      tools: [{ name: 'bash', input_schema: { description: 'y'.repeat(400) } }],
    })) >
      plain + 100,
  )
  assert.ok(withImage > 1_000 && withImage < 3_000 && withDocument > 5_000 && withDocument < 20_000)
})
