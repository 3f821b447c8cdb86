import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI, { toFile } from 'openai'
import type { Budget } from '../../src/contract/budgets.ts'
import type { UsageCall } from '../../src/contract/usage.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { runLine } from '../support/service/command-line.ts'
import { eventually } from '../support/service/eventually.ts'
import { send, sendOk } from '../support/service/send.ts'
import { startBatchUpstream } from '../support/upstream/batch-upstream.ts'
import { startEveryProtocol } from '../support/upstream/every-protocol.ts'
import { saying } from '../support/upstream/scripted-service.ts'
import { aliasOf } from '../support/upstream/spoken-protocols.ts'

const provider = await startBatchUpstream()
after(() => provider.close())
/** A request of 1,000 tokens and an answer of 100 cost 0.002 dollars as a single call. */
const prices = { input_cost_per_token: 0.000001, output_cost_per_token: 0.00001 }
const { service } = await startEveryProtocol({
  aliases: { 'batch-claude': 'anthropic-messages', 'batch-gpt': 'openai-chat' },
  params: {
    'batch-claude': { api_base: provider.url, batch_api: true, ...prices },
    'batch-gpt': { api_base: `${provider.url}/v1`, batch_api: true, ...prices },
  },
  hosts: [provider.host],
})
const holder = await holderOf(service)
const anthropic = new Anthropic({ baseURL: service.url, apiKey: holder.key ?? '', maxRetries: 0 })
const openai = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: holder.key ?? '', maxRetries: 0 })
const patience = { what: 'the end of the batch' }
const said = (text: string) => [{ role: 'user' as const, content: saying({ text }) }]

/** The ledger rows of a key, which are written soon after their calls. */
const callsOf = (keyId: string, count: number): Promise<readonly UsageCall[]> =>
  eventually(async () => {
    const { calls } = await sendOk<{ calls: UsageCall[] }>(service, `GET /api/usage/calls?key_id=${keyId}`)
    return calls.length >= count && calls
  }, patience)

/** A model of each format, except Anthropic's. */
const foreign = [aliasOf('openai-chat'), aliasOf('openai-responses'), aliasOf('gemini')]

test('@anthropic-ai/sdk: a batch on models of other formats is created, read, cancelled, listed and deleted', async () => {
  const requests = [...foreign, 'no-such-model'].map((model, at) => ({
    custom_id: `request-${at}`,
    params: { model, max_tokens: 50, messages: said(`Answer ${at}`) },
  }))
  const created = await anthropic.messages.batches.create({ requests })
  assert.match(created.id, /^msgbatch_/)
  const ended = await eventually(async () => {
    const batch = await anthropic.messages.batches.retrieve(created.id)
    return batch.processing_status === 'ended' && batch
  }, patience)
  assert.deepEqual(ended.request_counts, { processing: 0, succeeded: 3, errored: 1, canceled: 0, expired: 0 })
  const results: unknown[] = []
  for await (const { custom_id, result } of await anthropic.messages.batches.results(created.id)) {
    if (result.type === 'succeeded') {
      const [block] = result.message.content
      results.push([custom_id, block?.type === 'text' && block.text])
    } else if (result.type === 'errored') results.push([custom_id, result.error.error.type])
  }
  assert.deepEqual(results, [
    ['request-0', 'Answer 0'],
    ['request-1', 'Answer 1'],
    ['request-2', 'Answer 2'],
    ['request-3', 'not_found_error'],
  ])
  const listed: string[] = []
  for await (const { id } of anthropic.messages.batches.list({ limit: 1 })) listed.push(id)
  assert.deepEqual(listed, [created.id])
  await assert.rejects(anthropic.messages.batches.cancel(created.id), { status: 409 })

  const calls = await callsOf(holder.id, foreign.length)
  assert.deepEqual(
    calls.map(({ batch_id, outcome }) => [batch_id, outcome]),
    foreign.map(() => [created.id, 'completed']),
  )
  assert.deepEqual(await anthropic.messages.batches.delete(created.id), {
    id: created.id,
    type: 'message_batch_deleted',
  })
  await assert.rejects(anthropic.messages.batches.retrieve(created.id), { status: 404 })
})

async function upload(lines: readonly string[]): Promise<string> {
  const file = await toFile(Buffer.from(lines.join('\n')), 'in.jsonl')
  return (await openai.files.create({ purpose: 'batch', file })).id
}

async function linesOf(fileId: string | null | undefined) {
  const text = await (await openai.files.content(fileId ?? '')).text()
  return text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
}

test('openai: a batch of an uploaded file on a model of Anthropic’s format has its answers in the output file', async () => {
  const model = aliasOf('anthropic-messages')
  const lines = ['first', 'second', 'broken'].map(custom_id => {
    const body = { model, messages: custom_id === 'broken' ? 'none' : said(`The ${custom_id}`) }
    return JSON.stringify({ custom_id, method: 'POST', url: '/v1/chat/completions', body })
  })
  const about = { input_file_id: await upload(lines), completion_window: '24h' } as const
  const created = await openai.batches.create({ ...about, endpoint: '/v1/chat/completions', metadata: { run: '7' } })
  assert.deepEqual([created.status, created.metadata], ['validating', { run: '7' }])
  const ended = await eventually(async () => {
    const batch = await openai.batches.retrieve(created.id)
    return batch.status === 'completed' && batch
  }, patience)
  assert.deepEqual(ended.request_counts, { total: 3, completed: 2, failed: 1 })
  const output = await linesOf(ended.output_file_id)
  assert.deepEqual(
    output.map(({ custom_id, response }) => [
      custom_id,
      response.status_code,
      response.body.choices[0].message.content,
    ]),
    [
      ['first', 200, 'The first'],
      ['second', 200, 'The second'],
    ],
  )
  const [failed, ...others] = await linesOf(ended.error_file_id)
  assert.deepEqual([failed.custom_id, failed.response.status_code, others], ['broken', 400, []])
  assert.equal(failed.response.body.error.type, 'invalid_request_error')

  // A file whose lines are of another endpoint.
  const wrong = await openai.batches.create({ ...about, endpoint: '/v1/embeddings' })
  const rejected = await eventually(async () => {
    const batch = await openai.batches.retrieve(wrong.id)
    return batch.status === 'failed' && batch
  }, patience)
  assert.deepEqual([rejected.errors?.data?.[0]?.code, rejected.errors?.data?.[0]?.line], ['invalid_url', 1])
  await assert.rejects(openai.batches.cancel(wrong.id), { status: 409 })
  const listed: string[] = []
  for await (const { id } of openai.batches.list({ limit: 1 })) listed.push(id)
  assert.deepEqual(listed, [wrong.id, created.id])
})

test('openai: batches of responses and of embeddings run on models of other formats', async () => {
  const bodies = {
    '/v1/responses': { model: aliasOf('anthropic-messages'), input: said('As a response') },
    '/v1/embeddings': { model: aliasOf('openai-chat'), input: ['one', 'two'] },
  } as const
  for (const endpoint of ['/v1/responses', '/v1/embeddings'] as const) {
    const line = { custom_id: 'only', method: 'POST', url: endpoint, body: bodies[endpoint] }
    const input_file_id = await upload([JSON.stringify(line)])
    const { id } = await openai.batches.create({ input_file_id, endpoint, completion_window: '24h' })
    const ended = await eventually(async () => {
      const batch = await openai.batches.retrieve(id)
      return batch.status === 'completed' && batch
    }, patience)
    const [{ response }] = await linesOf(ended.output_file_id)
    assert.equal(response.status_code, 200)
    if (endpoint === '/v1/embeddings') assert.equal(response.body.data.length, 2)
    else assert.match(JSON.stringify(response.body.output), /As a response/)
  }
})

test('both SDKs get results through the batch API of the provider, at half the price and within the budget', async () => {
  const spender = await holderOf(service, { max_budget: 10 })
  const options = { apiKey: spender.key ?? '', maxRetries: 0 }
  const claude = new Anthropic({ ...options, baseURL: service.url })
  const gpt = new OpenAI({ ...options, baseURL: `${service.url}/v1` })
  const params = { model: 'batch-claude', max_tokens: 200, messages: said('Half.') }
  const pdf = await toFile(Buffer.from('%PDF-1.7'), 'in.pdf', { type: 'application/pdf' })
  const { id: file_id } = await gpt.files.create({ purpose: 'user_data', file: pdf })
  // The stable types of the SDK lack references to files.
  const document = { type: 'document', source: { type: 'file', file_id } } as unknown as Anthropic.DocumentBlockParam
  const requests = [
    ...['first', 'second'].map(custom_id => ({ custom_id, params })),
    { custom_id: 'unlucky', params: { ...params, max_tokens: 13 } },
    { custom_id: 'with-a-file', params: { ...params, messages: [{ role: 'user' as const, content: [document] }] } },
  ]
  const { id } = await claude.messages.batches.create({ requests })
  const body = { model: 'batch-gpt', max_tokens: 200, messages: said('Half.') }
  const line = JSON.stringify({ custom_id: 'third', method: 'POST', url: '/v1/chat/completions', body })
  const file = await gpt.files.create({ purpose: 'batch', file: await toFile(Buffer.from(line), 'in.jsonl') })
  const about = { input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' } as const
  const { id: fileBatch } = await gpt.batches.create(about)

  await eventually(async () => (await claude.messages.batches.retrieve(id)).processing_status === 'ended', patience)
  const results: unknown[] = []
  for await (const { custom_id, result } of await claude.messages.batches.results(id)) {
    const [block] = result.type === 'succeeded' ? result.message.content : []
    results.push([custom_id, block?.type === 'text' && block.text])
  }
  const text = 'From a provider.'
  assert.deepEqual(results, [
    ['first', text],
    ['second', text],
    ['unlucky', text],
    ['with-a-file', text],
  ])
  const ended = await eventually(async () => {
    const batch = await gpt.batches.retrieve(fileBatch)
    return batch.status === 'completed' && batch
  }, patience)
  const output = await (await gpt.files.content(ended.output_file_id ?? '')).text()
  assert.equal(JSON.parse(output).response.body.choices[0].message.content, text)
  const [ofFile, ofMessages] = provider.batches.toSorted((a, b) => a.lines.length - b.lines.length)
  assert.deepEqual([ofFile?.lines.length, ofMessages?.lines.length, provider.batches.length], [1, 4, 2])
  // The document refers to a copy at the provider.
  assert.match(JSON.stringify(ofMessages?.lines.at(-1)), /"file_id":"file-\d+"/)
  assert.match(ofMessages?.betas ?? '', /files-api/)
  // The provider answered one of them with an error, and it was made singly.
  assert.equal(provider.singles.length, 1)

  const calls = await callsOf(spender.id, 5)
  assert.deepEqual(
    calls.map(({ cost_usd, price_source, batch_id }) => [cost_usd, price_source, batch_id]).toSorted(),
    [
      ['0.001', 'config, batch', id],
      ['0.001', 'config, batch', id],
      ['0.001', 'config, batch', id],
      ['0.001', 'config, batch', fileBatch],
      ['0.002', 'config', id],
    ].toSorted(),
  )
  const budget = await sendOk<Budget>(service, `GET /api/budgets/key/${spender.id}`)
  assert.deepEqual([budget.spend, budget.reserved], [0.006, 0])
})

test('S48: a stop of a key cancels its batches', async () => {
  const freeze = await sendOk<{ id: string }>(service, 'PUT /v1/freezes', { body: { key_id: holder.id } })
  try {
    const requests = ['a', 'b'].map(custom_id => ({
      custom_id,
      params: { model: foreign[0] ?? '', max_tokens: 50, messages: said('Never.') },
    }))
    const { id } = await anthropic.messages.batches.create({ requests })
    await sendOk(service, 'POST /v1/stop', { body: { key_id: holder.id } })
    const ended = await eventually(async () => {
      const batch = await anthropic.messages.batches.retrieve(id)
      return batch.processing_status === 'ended' && batch
    }, patience)
    assert.equal(ended.request_counts.canceled, 2)
  } finally {
    await sendOk(service, `DELETE /v1/freezes/${freeze.id}`)
  }
})

test('bodies that are no batch are 400 with the field, 413 or 415, and batches of other callers are 404', async () => {
  const post = (body: unknown, headers = {}) => send(service, 'POST /v1/messages/batches', { body, headers })
  const rejected = [
    ['garbage', 400, /not valid JSON/],
    [
      {
        requests: [
          { custom_id: 'a', params: {} },
          { custom_id: 'a', params: {} },
        ],
      },
      400,
      /requests\[1\]\.custom_id a/,
    ],
    [{}, 400, /requests is required/],
  ] as const
  for (const [body, status, message] of rejected) {
    const answer = await post(body)
    assert.deepEqual([answer.status, answer.json<{ type: string }>().type], [status, 'error'])
    assert.match(answer.text, message)
  }
  assert.equal((await post('{}', { 'content-type': 'text/plain' })).status, 415)
  const { id } = (await post({ requests: [{ custom_id: 'a', params: {} }], colour: 1 })).json<{ id: string }>()
  const stranger = await holderOf(service)
  for (const path of [id, `${id}/results`])
    assert.equal((await send(stranger, `GET /v1/messages/batches/${path}`)).status, 404)
  const unknown = { input_file_id: 'file_none', endpoint: '/v1/chat/completions', completion_window: '24h' }
  const answer = await send(service, 'POST /v1/batches', { body: unknown })
  assert.deepEqual([answer.status, /file file_none not found/.test(answer.text)], [404, true])
  assert.equal(
    (await send(service, 'POST /v1/batches', { body: { ...unknown, endpoint: '/v1/audio/speech' } })).status,
    400,
  )
})

test('switchyard batches lists, shows and prints the results of a batch', async () => {
  const requests = [
    { custom_id: 'only', params: { model: foreign[0], max_tokens: 50, messages: said('From a terminal') } },
  ]
  const { id } = await sendOk<{ id: string }>(holder, 'POST /v1/messages/batches', { body: { requests } })
  const run = (...args: string[]) => runLine(['--url', service.url, '--key', holder.key ?? '', ...args], { fetch })
  const isEnded = async () =>
    (await run('batches', 'show', id, '--json')).stdout.includes('"processing_status":"ended"')
  await eventually(isEnded, patience)
  assert.match((await run('batches', 'ls')).stdout, new RegExp(`${id} .*ended`))
  assert.match((await run('batches', 'results', id)).stdout, /^\{"custom_id":"only".*From a terminal/)
  assert.equal((await run('batches', 'rm', id, '--yes')).code, 0)
})
