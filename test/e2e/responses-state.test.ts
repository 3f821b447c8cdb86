import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import OpenAI, { APIError, NotFoundError } from 'openai'
import { temporaryFolder } from '../support/service/data-folder.ts'
import { freshDatabase } from '../support/service/database.ts'
import { type Service, startService } from '../support/service/service.ts'
import { saying } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const foreign = await startScriptedUpstream({})
after(() => foreign.stop())

/** Requests to the upstream that speaks Responses. */
const seen: { readonly path: string; readonly body: string }[] = []
const own = createServer((request, response) => void answerAsOpenAi(request, response))
await new Promise<void>(resolve => own.listen(0, '127.0.0.1', resolve))
after(() => own.close())
const ownPort = (own.address() as AddressInfo).port

async function answerAsOpenAi(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = ''
  for await (const chunk of request) body += String(chunk)
  const path = `${request.method} ${request.url}`
  seen.push({ path, body })
  const id = `resp_up_${seen.length}`
  const object = path.endsWith('/compact') ? 'response.compaction' : 'response'
  const whole = { id, object, created_at: 1, status: 'completed', model: 'gpt', output: [], usage: null }
  response.setHeader('content-type', body.includes('"stream":true') ? 'text/event-stream' : 'application/json')
  if (!body.includes('"stream":true')) return void response.end(JSON.stringify(whole))
  const frame = (type: string) => `event: ${type}\ndata: ${JSON.stringify({ type, response: whole })}\n\n`
  response.end(frame('response.created') + frame('response.completed'))
}

const { url: databaseUrl } = await freshDatabase()
const dataDir = temporaryFolder()
const configWith = (more: object = {}, withOwn = true) =>
  JSON.stringify({
    model_list: [
      {
        model_name: 'foreign',
        params: { model: 'anthropic/claude-sonnet-5', api_base: foreign.url, api_key: 'sk-up' },
      },
      ...(withOwn
        ? [
            {
              model_name: 'own',
              params: {
                model: 'openai/gpt-5',
                protocol: 'openai-responses',
                api_base: `http://127.0.0.1:${ownPort}/v1`,
                api_key: 'sk-up',
              },
            },
          ]
        : []),
    ],
    outbound: { allow: [`127.0.0.1:${foreign.port}`, `127.0.0.1:${ownPort}`] },
    ...more,
  })

let service: Service | undefined
after(() => service?.stop())
async function restarted(config = configWith()): Promise<OpenAI> {
  await service?.stop()
  service = await startService({ databaseUrl, dataDir, config })
  return clientOf(service.key)
}
const clientOf = (apiKey: string) => new OpenAI({ baseURL: `${service?.url}/v1`, apiKey, maxRetries: 0 })
const lastSent = () => foreign.requests.at(-1)?.rawBody.toString() ?? assert.fail('the upstream was called')

async function bob(): Promise<OpenAI> {
  const answer = await fetch(`${service?.url}/api/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service?.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ label: 'bob' }),
  })
  const { key } = (await answer.json()) as { key: string }
  return clientOf(key)
}

/** The client's types leave the field out. */
const isStored = (response: object) => (response as { store?: unknown }).store

const isGone = (error: unknown) => {
  assert.ok(error instanceof NotFoundError)
  assert.deepEqual([error.code, error.type], ['response_not_found', 'invalid_request_error'])
  return true
}

test('openai on a model of another format: a response continues from one that was made before a restart', async () => {
  let client = await restarted()
  const model = 'foreign'
  const first = await client.responses.create({
    model,
    instructions: 'Speak like a pirate.',
    input: saying({ text: 'Nice to meet you.' }, { text: 'You are Ada.' }),
  })
  assert.deepEqual([isStored(first), first.previous_response_id], [true, null])

  client = await restarted()
  const stream = client.responses.stream({ model, input: 'Who am I?', previous_response_id: first.id })
  const second = await stream.finalResponse()
  assert.equal(second.output_text, 'You are Ada.')
  assert.equal(second.previous_response_id, first.id)
  assert.match(lastSent(), /Nice to meet you\..*Who am I\?/)
  assert.doesNotMatch(lastSent(), /pirate/)

  assert.equal((await client.responses.retrieve(second.id)).output_text, 'You are Ada.')
  const items = await client.responses.inputItems.list(second.id)
  assert.match(JSON.stringify(items.data), /Who am I\?/)
  assert.doesNotMatch(JSON.stringify(items.data), /Nice to meet/)
  await assert.rejects(client.responses.cancel(second.id), /was not created in the background/)

  const [said] = first.output
  assert.ok(said)
  await client.responses.create({
    model,
    input: [
      { type: 'item_reference', id: said.id ?? '' },
      { role: 'user', content: saying({ text: 'Yes.' }) },
    ],
  })
  assert.match(lastSent(), /Nice to meet you\./)
  const long = await client.responses.create({ model, input: saying({ text: 'x'.repeat(300_000) }) })
  const referring = (count: number, id: string) =>
    client.responses.create({ model, input: Array.from({ length: count }, () => ({ type: 'item_reference', id })) })
  await assert.rejects(referring(200, long.output[0]?.id ?? ''), /413 input: with the referenced items it is larger/)
  await assert.rejects(referring(20_000, `msg_${'0'.repeat(16)}_0`), /400 input\.0: item references are not supported/)

  await client.responses.delete(first.id)
  await assert.rejects(client.responses.retrieve(first.id), isGone)
  await assert.rejects(
    client.responses.create({ model, input: 'x', previous_response_id: second.id }),
    /earlier response of this chain was deleted/,
  )
})

test('openai: responses of another principal answer as those that do not exist, stored here or at the upstream', async () => {
  const client = await restarted()
  const stranger = await bob()
  for (const model of ['foreign', 'own']) {
    const { id } = await client.responses.create({ model, input: saying({ text: 'Secret.' }) })
    for (const asked of [id, 'resp_nothing']) {
      await assert.rejects(stranger.responses.create({ model, input: 'x', previous_response_id: asked }), isGone)
      await assert.rejects(stranger.responses.retrieve(asked), isGone)
      await assert.rejects(stranger.responses.inputItems.list(asked), isGone)
      await assert.rejects(stranger.responses.delete(asked), isGone)
      await assert.rejects(stranger.responses.cancel(asked), isGone)
    }
  }
})

test('openai: a chain at an upstream stays at its deployment, and its requests go there as they are', async () => {
  let client = await restarted()
  const stream = await client.responses.create({ model: 'own', input: 'hi', stream: true })
  let id = ''
  for await (const event of stream) if (event.type === 'response.completed') id = event.response.id
  await client.responses.create({ model: 'own', input: 'more', previous_response_id: id })
  assert.match(seen.at(-1)?.body ?? '', new RegExp(`"previous_response_id":"${id}"`))
  await client.responses.retrieve(id)
  assert.equal(seen.at(-1)?.path, `GET /v1/responses/${id}`)
  const include = ['reasoning.encrypted_content', 'file_search_call.results'] as const
  for (const read of [
    client.responses.retrieve(id, { include: [...include] }),
    client.responses.inputItems.list(id, { include: [...include] }),
  ]) {
    await read
    const { searchParams } = new URL(seen.at(-1)?.path.split(' ')[1] ?? '', 'http://x')
    assert.deepEqual(searchParams.getAll('include[]'), include)
  }
  await client.responses.cancel(id)
  assert.equal(seen.at(-1)?.path, `POST /v1/responses/${id}/cancel`)
  await assert.rejects(
    client.responses.create({ model: 'foreign', input: 'x', previous_response_id: id }),
    /is stored at deployment .* which does not serve this model/,
  )

  client = await restarted(configWith({}, false))
  await assert.rejects(client.responses.retrieve(id), /no longer configured/)
})

test('openai: nothing is stored where the request or the configuration forbids it', async () => {
  let client = await restarted()
  const request = { model: 'foreign', input: saying({ text: 'Hi.' }) }
  const unstored = await client.responses.create({ ...request, store: false })
  assert.equal(isStored(unstored), false)
  await assert.rejects(client.responses.retrieve(unstored.id), isGone)

  client = await restarted(configWith({ responses: { store: 'never' } }))
  const never = await client.responses.create(request)
  assert.equal(isStored(never), false)
  await assert.rejects(client.responses.retrieve(never.id), isGone)
  await assert.rejects(client.responses.create({ ...request, previous_response_id: never.id }), error => {
    assert.ok(error instanceof APIError)
    assert.equal(error.status, 400)
    assert.match(error.message, /send the whole input, or set responses\.store/)
    return true
  })
})

test('a count covers what it continues from, stores nothing, and answers 404 to the key of another', async () => {
  const client = await restarted()
  const first = await client.responses.create({ model: 'foreign', input: 'My name is Ada.' })
  const request = { model: 'foreign', input: 'Who am I?', previous_response_id: first.id }
  const count = await client.responses.inputTokens.count(request)
  assert.deepEqual([count.object, count.input_tokens], ['response.input_tokens', 42])
  assert.match(foreign.countRequests.at(-1)?.rawBody.toString() ?? '', /My name is Ada.*Who am I\?/)
  const stranger = await bob()
  await assert.rejects(Promise.resolve(stranger.responses.inputTokens.count(request)), isGone)
})

test('a compaction covers what it continues from; the chain that continues is loaded from there, without what it replaces', async () => {
  const client = await restarted()
  const first = await client.responses.create({ model: 'foreign', input: 'My name is Ada.' })
  const compact = (from: OpenAI, previous_response_id: string) =>
    from.responses.compact({ model: 'foreign', input: 'I like bridges.', previous_response_id })
  const compacted = await compact(client, first.id)
  assert.deepEqual([compacted.object, compacted.output.at(-1)?.type], ['response.compaction', 'compaction'])
  assert.match(lastSent(), /My name is Ada.*I like bridges\..*Summarize the conversation/s)
  await assert.rejects(compact(await bob(), first.id), isGone)

  const trigger = [{ type: 'compaction_trigger' }] as unknown as OpenAI.Responses.ResponseInput
  const second = await client.responses.create({ model: 'foreign', input: trigger, previous_response_id: first.id })
  await client.responses.create({ model: 'foreign', input: 'Who am I?', previous_response_id: second.id })
  assert.match(lastSent(), /My name is Ada.*What happened in this conversation before.*Who am I\?/s)
  assert.doesNotMatch(lastSent(), /Summarize the conversation|"role":"assistant"/)
})

test('openai: a compaction is asked of the upstream where it speaks Responses, with the bytes of the request', async () => {
  const client = await restarted()
  await client.post('/responses/compact', { body: { model: 'own', input: 'hi', odd: 1 } })
  assert.deepEqual(seen.at(-1), { path: 'POST /v1/responses/compact', body: '{"model":"gpt-5","input":"hi","odd":1}' })
})
