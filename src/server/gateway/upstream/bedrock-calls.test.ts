import assert from 'node:assert/strict'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { deploymentAt, startGatewayApp } from '../../../../test/support/gateway/gateway-app.ts'
import { readStream } from '../../../../test/support/sessions/event-grammar.ts'
import { awsEvent } from '../../../../test/support/upstream/dialects/aws-frame.ts'
import type { Protocol } from '../../config/protocols.ts'
import { signAws } from './aws-signature.ts'

const aws = { region: 'eu-west-1', accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'canary', sessionToken: 'token' }
const model = 'arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-opus-5-5'
const path = `/model/${encodeURIComponent(model)}`
const ask = { model: 'test-model', max_tokens: 50, messages: [{ role: 'user', content: 'Hi' }] }

const chunk = (event: object): Buffer =>
  awsEvent('chunk', { bytes: Buffer.from(JSON.stringify(event)).toString('base64') })

const converse = Buffer.concat([
  awsEvent('messageStart', { role: 'assistant' }),
  awsEvent('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Hello' } }),
  awsEvent('contentBlockStop', { contentBlockIndex: 0 }),
  awsEvent('messageStop', { stopReason: 'end_turn' }),
  awsEvent('metadata', { usage: { inputTokens: 11, outputTokens: 7 } }),
])
const usage = { input_tokens: 11, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 1 }
const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null }
const invoke = Buffer.concat([
  chunk({ type: 'message_start', message: { ...message, stop_sequence: null, usage } }),
  chunk({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
  chunk({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } }),
  chunk({ type: 'content_block_stop', index: 0 }),
  chunk({
    type: 'message_delta',
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { output_tokens: 7 },
  }),
  chunk({ type: 'message_stop' }),
])

const streams: Readonly<Record<string, Buffer>> = {
  [`${path}/converse-stream`]: converse,
  [`${path}/invoke-with-response-stream`]: invoke,
}

/** Signs the received request again and compares. A re-encoded path would give another signature. */
async function isSigned(request: IncomingMessage, body: Buffer, url: string): Promise<boolean> {
  const { 'content-type': type = '', 'accept-encoding': encoding = '', 'user-agent': agent = '' } = request.headers
  const time = String(request.headers['x-amz-date']).replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5')
  const headers = { 'content-type': type, 'accept-encoding': String(encoding), 'user-agent': agent }
  const expected = await signAws(aws, { url: `${url}${request.url}`, headers, body }, new Date(time))
  return request.headers.authorization === expected['authorization']
}

async function startBedrock() {
  const server = createServer(async (request, response) => {
    const body = await buffer(request)
    const url = `http://${request.headers.host}`
    const stream = streams[request.url ?? '']
    if (!(await isSigned(request, body, url))) {
      response.writeHead(403, { 'content-type': 'application/json' }).end('{"message":"The signature does not match"}')
    } else if (request.url === '/model/amazon.nova-lite-v1%3A0/count-tokens') {
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end('{"message":"The provided model doesn\'t support counting tokens."}')
    } else if (request.url === `${path}/count-tokens`) {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"inputTokens":42}')
    } else if (stream) {
      response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' })
      for (let at = 0; at < stream.length; at += 50) response.write(stream.subarray(at, at + 50))
      response.end()
    } else response.writeHead(400, { 'content-type': 'application/json' }).end('{"message":"Input is too long"}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${port}`
}

async function startGateway(protocol: Protocol, { secretAccessKey = aws.secretAccessKey, upstreamModel = model } = {}) {
  const apiBase = await startBedrock()
  const deployment = deploymentAt(apiBase, {
    provider: 'bedrock',
    protocols: [protocol],
    upstreamModel,
    apiKey: undefined,
    aws: { ...aws, secretAccessKey },
  })
  const app = await startGatewayApp({ deployments: [deployment], demo: false, router: { retries: 0 } })
  after(app.stop)
  return app
}

for (const protocol of ['bedrock-converse', 'bedrock-invoke'] as const) {
  test(`${protocol}: a signed call streams, counts tokens and is booked`, async () => {
    const app = await startGateway(protocol)
    const { text, stopReason } = readStream(await (await app.post({ ...ask, stream: true })).text())
    assert.deepEqual([text, stopReason], ['Hello', 'end_turn'])
    await app.bookedCalls(1)
    const [row] = app.booked
    assert.deepEqual([row?.input_tokens, row?.output_tokens], [11, 7])
    const count = await app.post({ model: 'test-model', messages: ask.messages }, { path: '/v1/messages/count_tokens' })
    assert.deepEqual(await count.json(), { input_tokens: 42 })
  })

  test(`C5: ${protocol}: a model without a token counter gets an estimate, marked as one`, async () => {
    const app = await startGateway(protocol, { upstreamModel: 'amazon.nova-lite-v1:0' })
    const count = await app.post({ model: 'test-model', messages: ask.messages }, { path: '/v1/messages/count_tokens' })
    assert.equal(count.status, 200)
    assert.equal(count.headers.get('x-switchyard-estimated'), 'input_tokens')
  })

  test(`E2: ${protocol}: an upstream error keeps its message in Anthropic's envelope`, async () => {
    const app = await startGateway(protocol)
    const answer = await app.post(ask)
    assert.equal(answer.status, 400)
    const { error } = (await answer.json()) as { error: unknown }
    assert.deepEqual(error, { type: 'invalid_request_error', message: 'Input is too long' })
  })

  test(`${protocol}: an error about a wrong secret does not contain the secret`, async () => {
    const app = await startGateway(protocol, { secretAccessKey: 'wrong-canary' })
    const text = await (await app.post({ ...ask, stream: true })).text()
    assert.match(text, /signature does not match/)
    assert.doesNotMatch(text, /canary/)
  })
}
