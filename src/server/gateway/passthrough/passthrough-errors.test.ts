import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { deploymentAt, startGatewayApp } from '../../../../test/support/gateway/gateway-app.ts'
import { pair, rawPair, simpleRequest, streamed, textOf } from '../../../../test/support/gateway/gateway-pair.ts'
import { startScriptedUpstream } from '../../../../test/support/upstream/scripted-upstream.ts'

test('E2, E3, G8: an upstream error is relayed unchanged with status, retry-after and rate limits', async () => {
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

test('E10, S40: a key that an upstream echoes in an error is replaced', async () => {
  const { post } = await pair([
    { status: 401, body: '{"error":"bad key sk-provider-canary-0001, sk-provider-canary-0001"}' },
  ])
  assert.equal(await (await post(simpleRequest)).text(), '{"error":"bad key [secret], [secret]"}')
})

test('S40: a credential from a header of any name is replaced, with or without its scheme', async () => {
  const upstream = await startScriptedUpstream({
    script: [{ status: 401, body: '"abcdefgh-1; Token abcdefgh-1; v2"' }],
  })
  const headers = { 'x-team-token': 'Token abcdefgh-1', 'anthropic-beta': 'v2' }
  const app = await startGatewayApp({ deployments: [deploymentAt(upstream.url, { headers })] })
  after(async () => {
    await app.stop()
    await upstream.stop()
  })
  assert.equal(await (await app.post(simpleRequest)).text(), '"[secret]; [secret]; v2"')
})

test('S40: a key that an upstream echoes across two chunks of a stream is replaced', async () => {
  const key = 'sk-provider-canary-0001'
  const start = 'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":1}}}\n\n'
  const block = 'event: content_block_start\ndata: {"type":"content_block_start","index":0}\n\n'
  const error = `event: error\ndata: {"type":"error","error":{"type":"api_error","message":"bad ${key}"}}\n\n`
  const cut = error.indexOf(key) + 5
  const { post, booked } = await pair([
    { frames: [start, block, error.slice(0, cut), error.slice(cut)], chunkDelayMs: 5 },
  ])
  const text = await (await post(streamed)).text()
  assert.equal(text, start + block + error.replace(key, '[secret]'))
  assert.equal(booked[0]?.outcome, 'failed')
})

test('S54: an upstream header that holds a key, or text instead of an id, is dropped', async () => {
  const headers = {
    'request-id': 'my key is sk-provider',
    'x-request-id': 'sk-provider-canary-0001',
    'anthropic-ratelimit-requests-limit': 'sk-provider-canary-0001',
    'anthropic-ratelimit-tokens-limit': '7',
  }
  const { post } = await pair([{ headers }])
  const answer = await post(simpleRequest)
  assert.match(answer.headers.get('request-id') ?? '', /^req_[0-9a-f]{32}$/)
  assert.equal(answer.headers.get('x-request-id'), null)
  assert.equal(answer.headers.get('anthropic-ratelimit-requests-limit'), null)
  assert.equal(answer.headers.get('anthropic-ratelimit-tokens-limit'), '7')
})

test('an error body is truncated at 1 MiB', async () => {
  const { post } = await pair([{ status: 500, body: 'x'.repeat(3_000_000) }])
  assert.equal((await (await post(simpleRequest)).text()).length, 1024 * 1024)
})

test('E1, E10: an unreachable upstream is 502 in Anthropic’s envelope without a host name', async () => {
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
  const answer = await app.post(simpleRequest)
  assert.equal(answer.status, 502)
  assert.match(await answer.text(), /has an address that outbound\.allow does not permit/)
  assert.equal(upstream.requests.length, 0)
})

test('an upstream that exceeds its timeout is 504', async () => {
  const timeouts = { connectMs: 1_000, firstByteMs: 100, idleMs: 5_000, totalMs: 10_000 }
  const { post, upstream } = await pair([{}], { deployment: { timeouts } })
  upstream.hold()
  const answer = await post(streamed)
  const body = (await answer.json()) as { error: { type: string } }
  assert.deepEqual([answer.status, body.error.type], [504, 'timeout_error'])
})

for (const [name, cut] of [
  ['resets the connection', { resetAfterBytes: 700 }],
  ['ends cleanly but too early', { cutAfterBytes: 700 }],
] as const) {
  test(`E5, S4: a stream whose upstream ${name} ends with one error event and without message_stop`, async () => {
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

test('a truncated whole response is 502 without a partial body', async () => {
  const { post } = await pair([{ text: 'Hello', resetAfterBytes: 50 }])
  assert.equal((await post(simpleRequest)).status, 502)
})

test('E5: an upstream’s error event after content is relayed unchanged and booked as failed', async () => {
  const body = [
    'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":1}}}\n\n',
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n',
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
  ].join('')
  const app = await rawPair((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(body)
  })
  assert.equal(await (await app.post(streamed)).text(), body)
  assert.equal(app.booked[0]?.outcome, 'failed')
})

const echoedKey = 'sk-provider-canary-0001'
const asHex = (text: string) => Buffer.from(text).toString('hex')
const encodings: readonly (readonly [name: string, encode: (key: string) => string])[] = [
  ['base64', key => Buffer.from(key).toString('base64')],
  ['base64url', key => Buffer.from(key).toString('base64url')],
  ['base64 after one byte', key => Buffer.from(`:${key}!`).toString('base64')],
  ['base64 after two bytes', key => Buffer.from(`k:${key}`).toString('base64')],
  ['base64 of a header', key => Buffer.from(`authorization: Bearer ${key}`).toString('base64')],
  ['hex', asHex],
  ['hex in capitals', key => asHex(key).toUpperCase()],
  ['percent encoding', key => encodeURIComponent(key).replaceAll('-', '%2D')],
  ['percent encoding of every byte', key => asHex(key).replaceAll(/../g, '%$&')],
]

for (const [name, encode] of encodings) {
  test(`M8: a key echoed in ${name} is replaced in errors, error frames and headers`, async () => {
    const echo = encode(echoedKey)
    const core = echo.slice(8, -8)
    const error = `event: error\ndata: {"type":"error","error":{"type":"api_error","message":"${echo}"}}\n\n`
    const start = 'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":1}}}\n\n'
    const block = 'event: content_block_start\ndata: {"type":"content_block_start","index":0}\n\n'
    const headers = { 'x-request-id': echo.replaceAll('%', '='), 'anthropic-ratelimit-requests-limit': echo }
    const { post } = await pair([
      { status: 401, body: `{"error":"bad key ${echo}"}`, headers },
      { frames: [start, block, error.slice(0, 70), error.slice(70)], chunkDelayMs: 5, headers },
      { frames: [error] },
    ])
    for (const body of [simpleRequest, streamed, streamed]) {
      const answer = await post(body)
      const text = JSON.stringify([...answer.headers]) + (await answer.text())
      assert.match(text, /\[secret\]/)
      assert.ok(!text.includes(core) && !text.includes(echoedKey), text)
    }
  })
}

test('M8: a successful response is relayed byte for byte, even with a key in it', async () => {
  const text = encodings.map(([, encode]) => encode(echoedKey)).join(' ')
  const body = JSON.stringify({ ...JSON.parse(await (await rawWhole()).text()), content: [{ type: 'text', text }] })
  const { post } = await pair([{ body }])
  assert.equal(await (await post(simpleRequest)).text(), body)
})

test('M8: a key in a stop reason is replaced in the ledger', async () => {
  const whole = JSON.parse(await (await rawWhole()).text())
  for (const stop of encodings.map(([, encode]) => encode(echoedKey))) {
    const { post, booked } = await pair([{ body: JSON.stringify({ ...whole, stop_reason: `x ${stop}` }) }])
    await (await post(simpleRequest)).text()
    assert.match(booked[0]?.stop_reason ?? '', /^x .{0,30}\[secret\]/)
  }
})

const rawWhole = async () => (await pair([{}])).post(simpleRequest)
