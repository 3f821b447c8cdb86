import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import OpenAI, { APIError, NotFoundError } from 'openai'
import type { Response, ResponseStreamEvent } from 'openai/resources/responses/responses'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { eventually } from '../support/service/eventually.ts'
import { send, sendOk, type Target } from '../support/service/send.ts'
import { type Service, startService } from '../support/service/service.ts'
import { startEveryProtocol } from '../support/upstream/every-protocol.ts'
import type { Answer } from '../support/upstream/scripted-answer.ts'
import { saying } from '../support/upstream/scripted-service.ts'
import { aliasOf, type SpokenProtocol } from '../support/upstream/spoken-protocols.ts'

let there: Service | undefined
after(() => there?.stop())
const model = aliasOf('anthropic-messages')
const { service, upstreams, config } = await startEveryProtocol({
  params: { [model]: { input_cost_per_token: 0, output_cost_per_token: 0.001 } },
  config: { limits: { background_queued_per_key: 2 } },
})
/** Another replica, which runs nothing: clients read and cancel there. */
const other = await startService({
  databaseUrl: service.databaseUrl,
  config,
  env: { SWITCHYARD_ROLE: 'api' },
})
there = other
const clientOf = ({ url, key = '' }: Target) => new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 })
const client = clientOf(service)
const elsewhere = clientOf(other)
const upstream = upstreams['anthropic-messages']

const isRunning = ({ status }: Response) => status === 'queued' || status === 'in_progress'
/** The response once it has ended, as another replica reads it. */
const ended = (id: string, from = elsewhere): Promise<Response> =>
  eventually(
    async () => {
      const response = await from.responses.retrieve(id)
      return !isRunning(response) && response
    },
    { what: 'the end of the response' },
  )
const started = (id: string, from = elsewhere): Promise<Response> =>
  eventually(
    async () => {
      const response = await from.responses.retrieve(id)
      return response.status === 'in_progress' && response
    },
    { what: 'the start of the response' },
  )
const begin = (answer: Answer, from = client, more: object = {}) =>
  from.responses.create({ model, input: saying(answer), background: true, ...more })
const never: Answer = { text: 'never', pauseAtFrame: 0 }
const isStatus = (status: number, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof APIError)
  assert.equal(error.status, status, error.message)
  assert.match(error.message, message)
  return true
}

const text = 'One two three four five six seven eight nine ten eleven twelve thirteen fourteen.'
/** A frame of the upstream after the first text. */
const pauses: Partial<Record<SpokenProtocol, number>> = {
  'anthropic-messages': 5,
  'openai-chat': 3,
  gemini: 2,
  'openai-responses': 6,
}

for (const [protocol, pauseAtFrame] of Object.entries(pauses) as [SpokenProtocol, number][]) {
  test(`openai on a model behind ${protocol}: a background response is polled, left, resumed on another replica and continued`, async () => {
    const named = aliasOf(protocol)
    const input = saying({ text: 'Whole answer.' })
    const queued = await client.responses.create({ model: named, input, background: true, metadata: { a: 'b' } })
    assert.deepEqual([queued.status, queued.background, queued.output, queued.model], ['queued', true, [], named])
    const whole = await ended(queued.id)
    assert.deepEqual(
      [whole.status, whole.output_text, whole.id, whole.background, whole.created_at],
      ['completed', 'Whole answer.', queued.id, true, queued.created_at],
    )
    assert.match(JSON.stringify((await elsewhere.responses.inputItems.list(whole.id)).data), /Whole answer/)

    const stream = await client.responses.create({
      model: named,
      input: saying({ text, pauseAtFrame }),
      background: true,
      stream: true,
    })
    const first: ResponseStreamEvent[] = []
    for await (const event of stream) {
      first.push(event)
      if (event.type === 'response.output_text.delta') break
    }
    const [created] = first
    assert.ok(created?.type === 'response.created')
    const { id } = created.response
    assert.equal((await elsewhere.responses.retrieve(id)).status, 'in_progress')
    await assert.rejects(
      client.responses.create({ model: named, input, previous_response_id: id }),
      isStatus(400, /is in_progress; continue it once it is completed/),
    )
    const resumed = await elsewhere.responses.retrieve(id, {
      stream: true,
      starting_after: first.at(-1)?.sequence_number ?? 0,
    })
    upstreams[protocol].release()
    const all = [...first, ...(await Array.fromAsync(resumed))]
    assert.deepEqual(
      all.map(event => event.sequence_number),
      all.map((_, at) => at),
    )
    assert.deepEqual(
      all.slice(0, 3).map(event => event.type),
      ['response.created', 'response.queued', 'response.in_progress'],
    )
    assert.equal(all.map(event => (event.type === 'response.output_text.delta' ? event.delta : '')).join(''), text)
    const last = all.at(-1)
    assert.ok(last?.type === 'response.completed')
    assert.deepEqual([last.response.id, last.response.background], [id, true])
    assert.deepEqual(await Array.fromAsync(await client.responses.retrieve(id, { stream: true })), all)
    assert.deepEqual((await elsewhere.responses.retrieve(id)).output, last.response.output)

    const next = { model: named, input: saying({ text: 'Chained.' }), previous_response_id: id }
    const chained = await client.responses.create({ ...next, background: true })
    assert.equal((await ended(chained.id)).output_text, 'Chained.')
    const sent = upstreams[protocol].requests.at(-1)?.body ?? {}
    if (protocol === 'openai-responses') assert.match(String(sent['previous_response_id']), /^resp_msg_upstream_/)
    else assert.match(JSON.stringify(sent), /thirteen fourteen.*Chained/)
  })
}

test('openai: cancel on another replica stops the upstream, is idempotent and ends the stream', async () => {
  const stream = await begin({ text, pauseAtFrame: 5 }, client, { stream: true })
  const events: { readonly type: string; readonly response?: Response }[] = []
  const reading = (async () => {
    for await (const event of stream as unknown as AsyncIterable<ResponseStreamEvent>) events.push(event)
  })()
  await eventually(() => events.some(({ type }) => type === 'response.output_text.delta'))
  const id = events[0]?.response?.id ?? ''
  const call = upstream.requests.at(-1)
  const cancelled = await elsewhere.responses.cancel(id)
  assert.deepEqual([cancelled.id, cancelled.status], [id, 'cancelled'])
  await call?.closed
  await reading
  assert.equal(events.at(-1)?.type, 'response.cancelled')
  assert.deepEqual(await client.responses.cancel(id), cancelled)
  assert.equal((await client.responses.retrieve(id)).status, 'cancelled')
  await assert.rejects(
    client.responses.create({ model, input: 'x', previous_response_id: id }),
    isStatus(400, /is cancelled; it cannot be continued/),
  )

  const done = await ended((await begin({ text: 'Done.' })).id)
  const { output_text: _, ...shown } = done
  assert.deepEqual(await elsewhere.responses.cancel(done.id), shown)
})

test('openai: a deleted response no longer runs', async () => {
  const before = upstream.requests.length
  const { id } = await begin(never)
  await upstream.received(before + 1)
  await elsewhere.responses.delete(id)
  await upstream.requests[before]?.closed
  await assert.rejects(client.responses.retrieve(id), NotFoundError)
})

test('openai: a call that fails ends its response with its error', async () => {
  const failed = await ended((await begin({ status: 400, error: 'The picture is too large.' })).id)
  assert.equal(failed.status, 'failed')
  assert.match(failed.error?.message ?? '', /The picture is too large/)
  const events = await Array.fromAsync(
    (await begin({ text, breakAtFrame: 5 }, client, { stream: true })) as unknown as AsyncIterable<ResponseStreamEvent>,
  )
  assert.equal(events.at(-1)?.type, 'response.failed')
})

test('openai: bad requests about background responses are rejected', async () => {
  await assert.rejects(begin({}, client, { store: false }), isStatus(400, /^400 background requires store: true/))
  await assert.rejects(begin({}, client, { background: 'yes' }), isStatus(400, /background must be a boolean/))
  await assert.rejects(begin({}, client, { model: 'nothing' }), isStatus(404, /nothing/))
  await assert.rejects(begin({}, client, { previous_response_id: 'resp_none' }), isStatus(404, /not found/))

  const polled = await ended((await begin({})).id)
  const noStream = isStatus(400, /was not created with background: true and stream: true/)
  await assert.rejects(client.responses.retrieve(polled.id, { stream: true }), noStream)
  const plain = await client.responses.create({ model, input: 'hi' })
  await assert.rejects(client.responses.retrieve(plain.id, { stream: true }), noStream)

  const [created, ...rest] = await Array.fromAsync(
    (await begin({}, client, { stream: true })) as unknown as AsyncIterable<ResponseStreamEvent>,
  )
  assert.ok(created?.type === 'response.created')
  const { id } = created.response
  assert.deepEqual(await Array.fromAsync(await resumedAt(id, rest.length)), [])
  await assert.rejects(resumedAt(id, rest.length + 1), isStatus(400, /is beyond the last event/))
  for (const query of ['stream=true&starting_after=abc', 'stream=true&starting_after=-1', 'starting_after=1']) {
    const answer = await send(service, `GET /v1/responses/${id}?${query}`)
    assert.deepEqual([answer.status, /starting_after/.test(answer.text)], [400, true], answer.text)
  }

  const stranger = clientOf(await holderOf(service))
  await assert.rejects(stranger.responses.retrieve(id), NotFoundError)
  await assert.rejects(stranger.responses.retrieve(id, { stream: true }), NotFoundError)
  await assert.rejects(stranger.responses.cancel(id), NotFoundError)
  await assert.rejects(stranger.responses.delete(id), NotFoundError)
})
const resumedAt = (id: string, startingAfter: number) =>
  client.responses.retrieve(id, { stream: true, starting_after: startingAfter })

test('a key limits its background responses: money and models when they are created, parallel calls when they run', async () => {
  const poor = clientOf(await holderOf(service, { max_budget: 0.01 }))
  await assert.rejects(begin({}, poor, { max_output_tokens: 1_000 }), isStatus(402, /budget/))
  const narrow = clientOf(await holderOf(service, { models: ['another'] }))
  await assert.rejects(begin({}, narrow), isStatus(403, /may not use/))

  const one = clientOf(await holderOf(service, { max_parallel_requests: 1 }))
  const before = upstream.requests.length
  const running = await begin(never, one)
  await upstream.received(before + 1)
  const waiting = [await begin({ text: 'Second.' }, one), await begin({ text: 'Third.' }, one)]
  await assert.rejects(begin({}, one), isStatus(429, /has 2 queued background responses/))
  assert.deepEqual(await Promise.all(waiting.map(async ({ id }) => (await one.responses.retrieve(id)).status)), [
    'queued',
    'queued',
  ])
  await one.responses.cancel(running.id)
  const texts = await Promise.all(waiting.map(async ({ id }) => (await ended(id, one)).output_text))
  assert.deepEqual(texts, ['Second.', 'Third.'])
})

test('the end of a key and a stop of its work end its background responses', async () => {
  const holder = await holderOf(service, { owner_id: 'ada' })
  const beside = clientOf(await holderOf(service, { owner_id: 'ada' }))
  const own = clientOf(holder)
  const revoked = await begin(never, own)
  await started(revoked.id, beside)
  await sendOk(service, `DELETE /api/keys/${holder.id}`)
  const failed = await ended(revoked.id, beside)
  assert.deepEqual([failed.status, failed.error?.code], ['failed', 'invalid_api_key'])

  const stopped = await begin(never, beside)
  await started(stopped.id, beside)
  await sendOk(other, 'POST /v1/stop', { body: { owner: 'ada' } })
  assert.equal((await ended(stopped.id, beside)).status, 'cancelled')
})

test('GET /metrics has the background responses that wait and run', async () => {
  const { id } = await begin(never)
  await started(id)
  await eventually(
    async () =>
      /^switchyard_background_responses\{status="in_progress"\} 1$/m.test((await send(service, 'GET /metrics')).text),
    { what: 'the gauge' },
  )
  await client.responses.cancel(id)
})
