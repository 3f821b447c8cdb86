import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { UsageCall } from '../../src/contract/usage.ts'
import { createAwsEventStream } from '../../src/server/gateway/bytes/aws-event-stream.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { eventually } from '../support/service/eventually.ts'
import { open, send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { awsEvent } from '../support/upstream/dialects/aws-frame.ts'
import { startEndpointUpstream } from '../support/upstream/endpoint-upstream.ts'

const upstream = await startEndpointUpstream()
after(() => upstream.stop())
const secret = 'aws-secret-0123'
const prices = { input_cost_per_token: 1e-6, output_cost_per_token: 1e-5 }
const at = (name: string) => ({
  model_name: `bedrock/${name}`,
  params: {
    model: `bedrock/${name}`,
    api_base: upstream.url,
    aws_region_name: 'eu-central-1',
    aws_access_key_id: 'AKIAEXAMPLE',
    aws_secret_access_key: secret,
    ...prices,
  },
})
const service = await startService({
  config: JSON.stringify({
    model_list: [at('amazon.nova-pro-v1:0'), at('anthropic.claude-sonnet-4-5-v1:0')],
    outbound: { allow: [new URL(upstream.url).host] },
  }),
})
const holder = await holderOf(service, { models: ['bedrock/*'] })

const nova = '/bedrock/model/amazon.nova-pro-v1%3A0'
const claude = '/bedrock/model/anthropic.claude-sonnet-4-5-v1:0'
const converse = '{"messages" : [{"role":"user","content":[{"text":"hi"}]}], "inferenceConfig":{"maxTokens":100}}'
const invoke = '{"anthropic_version":"bedrock-2023-05-31","max_tokens":100,"messages":[{"role":"user","content":"hi"}]}'
const streamType = 'application/vnd.amazon.eventstream'
const usage = { inputTokens: 1_000, outputTokens: 20, cacheReadInputTokens: 0 }
const metrics = { inputTokenCount: 1_000, outputTokenCount: 20 }
const chunk = (data: object) => awsEvent('chunk', { bytes: Buffer.from(JSON.stringify(data)).toString('base64') })

const converseStream = [
  awsEvent('messageStart', { role: 'assistant' }),
  awsEvent('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Hello' } }),
  awsEvent('messageStop', { stopReason: 'end_turn' }),
  awsEvent('metadata', { usage }),
]
const invokeStream = [
  chunk({ type: 'message_start', message: {} }),
  chunk({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } }),
  chunk({ type: 'message_delta', delta: { stop_reason: 'end_turn' } }),
  chunk({ type: 'message_stop', 'amazon-bedrock-invocationMetrics': metrics }),
]

const calls = [
  {
    path: `${nova}/converse`,
    sent: '/model/amazon.nova-pro-v1%3A0/converse',
    body: converse,
    answer: { body: JSON.stringify({ output: { message: {} }, stopReason: 'end_turn', usage }) },
  },
  {
    path: `${claude}/invoke`,
    sent: '/model/anthropic.claude-sonnet-4-5-v1%3A0/invoke',
    body: invoke,
    answer: {
      body: JSON.stringify({ content: [], stop_reason: 'end_turn', usage: { input_tokens: 1_000, output_tokens: 20 } }),
    },
  },
  {
    path: `${nova}/converse-stream`,
    sent: '/model/amazon.nova-pro-v1%3A0/converse-stream',
    body: converse,
    answer: { type: streamType, body: converseStream },
  },
  {
    path: `${claude}/invoke-with-response-stream`,
    sent: '/model/anthropic.claude-sonnet-4-5-v1%3A0/invoke-with-response-stream',
    body: invoke,
    answer: { type: streamType, body: invokeStream },
  },
] as const

const bytesOf = (body: string | readonly Buffer[]) =>
  typeof body === 'string' ? Buffer.from(body) : Buffer.concat(body)

/** Sends a call and reads the bytes of its answer. */
async function ask(path: string, body: string, from = holder) {
  const answer = await open(from, `POST ${path}`, { body, headers: { 'x-amzn-bedrock-trace': 'ENABLED' } })
  const pieces: Buffer[] = []
  for await (const piece of answer as AsyncIterable<Buffer>) pieces.push(piece)
  return { status: answer.statusCode, headers: answer.headers, bytes: Buffer.concat(pieces) }
}

/** The row of a call in the ledger. */
const rowOf = (id: unknown) =>
  eventually(
    async () => {
      const answer = await send(service, `GET /api/usage/calls?request_id=${String(id)}`)
      return answer.json<{ calls: UsageCall[] }>().calls[0]
    },
    { what: 'the row of the call' },
  )

for (const { path, sent, body, answer } of calls) {
  test(`POST ${path} is a call of the gateway: bytes pass both ways, signed, and its usage is booked`, async () => {
    upstream.answer(answer)
    const { status, headers, bytes } = await ask(path, body)
    assert.equal(status, 200, bytes.toString())
    assert.ok(bytes.equals(bytesOf(answer.body)))
    assert.equal(headers['content-type'], 'type' in answer ? streamType : 'application/json')
    const got = upstream.last()
    assert.deepEqual([got.url, got.body.toString()], [sent, body])
    assert.match(String(got.headers.authorization), /^AWS4-HMAC-SHA256 .*eu-central-1\/bedrock/)
    assert.equal(got.headers['x-amzn-bedrock-trace'], 'ENABLED')
    const row = await rowOf(headers['x-switchyard-request-id'])
    assert.deepEqual(
      [row.lane, row.input_tokens, row.output_tokens, row.estimated, row.stop_reason],
      ['raw', 1_000, 20, false, 'end_turn'],
    )
    assert.equal(Number(row.cost_usd), 0.0012)
  })
}

test('a rejection by the gateway has the error format of AWS, and reaches no upstream', async () => {
  const before = upstream.requests.length
  const narrow = await holderOf(service, { models: ['bedrock/amazon.*'] })
  const poor = await holderOf(service, { max_budget: 0.0001 })
  for (const [path, body, from, status, type, message] of [
    [`${nova}/converse`, '{', holder, 400, 'ValidationException', /JSON/],
    [`${claude}/invoke`, invoke, narrow, 403, 'AccessDeniedException', /may not use model/],
    [
      '/bedrock/model/meta.none/converse',
      converse,
      holder,
      404,
      'ResourceNotFoundException',
      /not configured for provider bedrock/,
    ],
    [`${nova}/converse`, converse, poor, 402, 'ServiceQuotaExceededException', /budget/],
  ] as const) {
    const { status: got, headers, bytes } = await ask(path, body, from)
    assert.deepEqual([got, headers['x-amzn-errortype']], [status, type], bytes.toString())
    assert.match((JSON.parse(bytes.toString()) as { message: string }).message, message)
  }
  assert.equal(upstream.requests.length, before)
})

test('an error of Bedrock goes to the client as it came, without the credential', async () => {
  const headers = { 'x-amzn-errortype': 'ValidationException' }
  upstream.answer({ status: 400, headers, body: JSON.stringify({ message: `no ${secret}` }) })
  const answer = await ask(`${nova}/converse`, converse)
  assert.deepEqual([answer.status, answer.bytes.toString()], [400, '{"message":"no [secret]"}'])
  assert.equal(answer.headers['x-amzn-errortype'], 'ValidationException')
})

test('a stream that breaks off ends with an exception that AWS clients read, and is booked by an estimate', async () => {
  upstream.answer({ type: streamType, body: converseStream.slice(0, 2), isCut: true })
  const { headers, bytes } = await ask(`${nova}/converse-stream`, converse)
  const frames = createAwsEventStream()(bytes)
  assert.deepEqual(
    frames.map(({ event }) => event),
    ['messageStart', 'contentBlockDelta', 'modelErrorException'],
  )
  const row = await rowOf(headers['x-switchyard-request-id'])
  assert.deepEqual([row.outcome, row.estimated], ['failed', true])
  assert.ok(row.input_tokens > 0 && row.output_tokens > 0)
})
