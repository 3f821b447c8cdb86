import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Deployment } from '../../../src/server/config/deployments.ts'
import { deploymentAt, startGatewayApp } from '../../support/gateway/gateway-app.ts'
import { type GotRequest, startEndpointUpstream } from '../../support/upstream/endpoint-upstream.ts'

const upstream = await startEndpointUpstream()
const at = (alias: string, changes: Partial<Deployment>) =>
  deploymentAt(upstream.url, { id: `${alias}.1`, alias, prices: { input: 1e-6 }, ...changes })
const deployments = [
  at('gemini', { provider: 'gemini', protocols: ['gemini'], upstreamModel: 'gemini-embedding-001' }),
  at('titan', { provider: 'bedrock', protocols: ['bedrock-converse'], upstreamModel: 'amazon.titan-embed-text-v2:0' }),
  at('cohere', { provider: 'bedrock', protocols: ['bedrock-converse'], upstreamModel: 'cohere.embed-v4:0' }),
  at('nova', { provider: 'bedrock', protocols: ['bedrock-converse'], upstreamModel: 'amazon.nova-pro-v1:0' }),
  at('openai', {
    provider: 'openai',
    protocols: ['openai-responses', 'openai-chat'],
    upstreamModel: 'text-embedding-3-small',
  }),
]
const app = await startGatewayApp({ deployments, router: { retries: 0 } })
after(async () => {
  await app.stop()
  await upstream.stop()
})

const bodyOf = ({ body }: GotRequest) => JSON.parse(body.toString()) as Record<string, unknown>
const say = (value: object) => ({ body: JSON.stringify(value) })
/** What each upstream answers to texts: the length of each as a vector. */
upstream.answer(got => {
  const body = bodyOf(got)
  if (got.url.endsWith(':embedContent')) return say({ embedding: { values: [7] } })
  if (got.url.endsWith(':batchEmbedContents')) {
    const requests = body['requests'] as { content: { parts: { text: string }[] } }[]
    return say({ embeddings: requests.map(({ content }) => ({ values: [content.parts[0]?.text.length, 0.5] })) })
  }
  if (got.url.includes('titan'))
    return say({ embedding: [String(body['inputText']).length, 0.5], inputTextTokenCount: 3 })
  if (got.url.includes('cohere'))
    return say({ embeddings: { float: (body['texts'] as string[]).map(text => [text.length, 0.5]) } })
  const data = (body['input'] as string[]).map((text, index) => ({ index, embedding: [text.length, 0.5] }))
  return say({ data, usage: { prompt_tokens: 9 } })
})

async function call<T>(path: string, body: object) {
  const before = app.booked.length
  const response = await app.post(body, { path })
  const value = (await response.json()) as T
  assert.equal(response.status, 200, JSON.stringify(value))
  await app.bookedCalls(before + 1)
  return { value, row: app.booked.at(-1) ?? assert.fail('the call is booked') }
}

interface List {
  readonly data: readonly { readonly embedding: unknown; readonly index: number }[]
  readonly usage: { readonly prompt_tokens: number }
}

for (const [model, tokens, estimated] of [
  ['gemini', 3, true],
  ['titan', 6, false],
  ['cohere', 3, true],
] as const) {
  test(`P33: embeddings of OpenAI’s clients at ${model}: vectors in order, priced by tokens`, async () => {
    const { value, row } = await call<List>('/v1/embeddings', { model, input: ['a', 'four'], dimensions: 256 })
    assert.deepEqual(
      value.data.map(({ embedding, index }) => [index, embedding]),
      [
        [0, [1, 0.5]],
        [1, [4, 0.5]],
      ],
    )
    assert.equal(row.estimated, estimated)
    if (!estimated) assert.equal(row.input_tokens, tokens)
    assert.ok(row.input_tokens > 0)
    assert.equal(value.usage.prompt_tokens, row.input_tokens)
    assert.equal(Number(row.cost_usd), row.input_tokens * 1e-6)
  })

  test(`P34: embeddings at ${model} as base64 are little-endian floats`, async () => {
    const { value } = await call<List>('/v1/embeddings', { model, input: 'ab', encoding_format: 'base64' })
    const bytes = Buffer.from(String(value.data[0]?.embedding), 'base64')
    assert.deepEqual([bytes.readFloatLE(0), bytes.readFloatLE(4), bytes.length], [2, 0.5, 8])
  })
}

test('P35: dimensions and models go out in each upstream’s words', async () => {
  const sent = async (model: string) => {
    await call('/v1/embeddings', { model, input: ['a'], dimensions: 256 })
    return [upstream.last().url, bodyOf(upstream.last())]
  }
  const name = 'models/gemini-embedding-001'
  assert.deepEqual(await sent('gemini'), [
    `/v1beta/${name}:batchEmbedContents`,
    { requests: [{ model: name, content: { parts: [{ text: 'a' }] }, outputDimensionality: 256 }] },
  ])
  assert.deepEqual(await sent('titan'), [
    '/model/amazon.titan-embed-text-v2%3A0/invoke',
    { inputText: 'a', dimensions: 256 },
  ])
  assert.deepEqual(await sent('cohere'), [
    '/model/cohere.embed-v4%3A0/invoke',
    { texts: ['a'], input_type: 'search_document', output_dimension: 256 },
  ])
})

const content = { parts: [{ text: 'four' }] }

test('P36: embedContent and batchEmbedContents pass through to Google, their model’s name exchanged', async () => {
  const one = await call<object>('/v1beta/models/gemini:embedContent', { model: 'models/gemini', content, x: 1 })
  assert.deepEqual(one.value, { embedding: { values: [7] } })
  assert.deepEqual(bodyOf(upstream.last()), { model: 'models/gemini-embedding-001', content, x: 1 })
  assert.deepEqual([one.row.estimated, one.row.input_tokens > 0], [true, true])
  const requests = [{ model: 'models/gemini', content, taskType: 'RETRIEVAL_QUERY' }]
  await call('/v1beta/models/gemini:batchEmbedContents', { requests })
  assert.deepEqual(bodyOf(upstream.last()), { requests: [{ ...requests[0], model: 'models/gemini-embedding-001' }] })
})

test('P37: embedContent and batchEmbedContents are translated for OpenAI’s upstreams', async () => {
  const one = await call<object>('/v1beta/models/openai:embedContent', { content, outputDimensionality: 2 })
  assert.deepEqual(one.value, {
    embedding: { values: [4, 0.5] },
    usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 },
  })
  assert.deepEqual(bodyOf(upstream.last()), { model: 'text-embedding-3-small', input: ['four'], dimensions: 2 })
  const two = await call<{ embeddings: unknown }>('/v1beta/models/openai:batchEmbedContents', {
    requests: [{ content }, { content: { parts: [{ text: 'b' }] } }],
  })
  assert.deepEqual(two.value.embeddings, [{ values: [4, 0.5] }, { values: [1, 0.5] }])
})

test('P38: what cannot be embedded is rejected by its name, in the client’s format', async () => {
  const refusal = async (path: string, body: object) => {
    const response = await app.post(body, { path })
    const { error } = (await response.json()) as { error: { message: string; code: unknown } }
    return [response.status, error.message, error.code] as const
  }
  const lacking = await refusal('/v1/embeddings', { model: 'nova', input: 'a' })
  assert.deepEqual([lacking[0], lacking[2]], [400, null])
  assert.match(lacking[1], /nova does not support \/v1\/embeddings; it supports \/v1\/messages/)
  const ids = await refusal('/v1/embeddings', { model: 'titan', input: [1, 2] })
  assert.match(ids[1], /takes no token ids/)
  const image = await refusal('/v1beta/models/openai:embedContent', { content: { parts: [{ inlineData: {} }] } })
  assert.deepEqual([image[0], image[2]], [400, 400])
  assert.match(image[1], /content\.parts must contain text/)
})

test('P39: an upstream’s error is in the client’s format with its status and words', async () => {
  const failing = await startEndpointUpstream()
  failing.answer({ status: 400, ...say({ message: 'Malformed input request' }) })
  const other = await startGatewayApp({
    deployments: [{ ...(deployments[1] ?? assert.fail()), apiBase: failing.url }],
    router: { retries: 0 },
  })
  const response = await other.post({ model: 'titan', input: 'a' }, { path: '/v1/embeddings' })
  assert.deepEqual(
    [response.status, await response.json()],
    [400, { error: { message: 'Malformed input request', type: 'invalid_request_error', param: null, code: null } }],
  )
  await other.stop()
  await failing.stop()
})

test('P33: vectors that OpenAI sends in another order belong to their texts', async () => {
  upstream.answerOnce(
    say({
      data: [
        { index: 1, embedding: [2] },
        { index: 0, embedding: [1] },
      ],
    }),
  )
  const { value } = await call<{ embeddings: unknown }>('/v1beta/models/openai:batchEmbedContents', {
    requests: ['a', 'b'].map(text => ({ content: { parts: [{ text }] } })),
  })
  assert.deepEqual(value.embeddings, [{ values: [1] }, { values: [2] }])
})

test('P33: an upstream that leaves out a vector fails the call', async () => {
  upstream.answerOnce(say({ embeddings: [{ values: [1] }] }))
  const response = await app.post({ model: 'gemini', input: ['a', 'b'] }, { path: '/v1/embeddings' })
  const { error } = (await response.json()) as { error: { message: string } }
  assert.equal(response.status, 502)
  assert.match(error.message, /returned 1 embeddings for 2 texts/)
})

test('P33: vectors are base64 where the client wants that and the server ignores it, and unchanged otherwise', async () => {
  const vector = [1.5, -2]
  const given = JSON.stringify({
    object: 'list',
    data: [{ object: 'embedding', embedding: vector, index: 0 }],
    model: 'm',
  })
  const answerTo = async (body: object) => {
    upstream.answerOnce({ body: given })
    return (await app.post({ model: 'openai', input: 'a', ...body }, { path: '/v1/embeddings' })).text()
  }
  const { data } = JSON.parse(await answerTo({ encoding_format: 'base64' })) as List
  const bytes = Buffer.from(String(data[0]?.embedding), 'base64')
  assert.deepEqual([...new Float32Array(new Uint8Array(bytes).buffer)], vector)
  for (const body of [{}, { encoding_format: 'float' }, { user: 'base64' }]) assert.equal(await answerTo(body), given)
})
