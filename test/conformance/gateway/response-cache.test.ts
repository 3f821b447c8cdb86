import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { ApiKeyWrite, ShownApiKey } from '../../../src/contract/keys.ts'
import type { UsageCall, UsageFigures } from '../../../src/contract/usage.ts'
import { eventually } from '../../support/service/eventually.ts'
import { type Answered, open, type Sent, send } from '../../support/service/send.ts'
import { startService } from '../../support/service/service.ts'
import { startEveryProtocol } from '../../support/upstream/every-protocol.ts'
import { markerScript } from '../../support/upstream/marker-script.ts'
import { saying } from '../../support/upstream/scripted-service.ts'
import { aliasOf, everyProtocol } from '../../support/upstream/spoken-protocols.ts'

const cache = { ttl: '1h' }
const { service, upstreams, config } = await startEveryProtocol({
  // A model in Anthropic's format can fail where its fallback in another one answers.
  script: request =>
    request.url.endsWith('/v1/messages') && request.rawBody.includes('Anthropic is away')
      ? { status: 500, error: 'no' }
      : markerScript(request),
  aliases: { cached: 'anthropic-messages', first: 'anthropic-messages', second: 'openai-chat' },
  params: {
    cached: { cache, input_cost_per_token: 0, output_cost_per_token: 0.001 },
    first: { cache },
  },
  config: { router: { retries: 0, fallbacks: { first: ['second'] } } },
})
const upstreamCalls = () => Object.values(upstreams).reduce((sum, { requests }) => sum + requests.length, 0)

const keyOf = async (write: ApiKeyWrite = {}): Promise<ShownApiKey> => {
  const answer = await send(service, 'POST /api/keys', { body: { cache, ...write } })
  assert.equal(answer.status, 201, answer.text)
  return answer.json<ShownApiKey>()
}
const { key } = await keyOf({ label: 'ada', owner_id: 'ada' })

let prompts = 0
/** A prompt that no other call has. */
const fresh = (): string => `${saying({ text: 'The answer.', thinking: 'Let me see.' })} ${prompts++}`

interface Ask {
  readonly model: string
  readonly prompt: string
  readonly stream: boolean
}

/** A request in each client format. */
const formats = {
  messages: ({ model, prompt, stream }: Ask) => ({
    line: 'POST /v1/messages',
    body: { model, stream, max_tokens: 500, messages: [{ role: 'user', content: prompt }] },
  }),
  chat: ({ model, prompt, stream }: Ask) => ({
    line: 'POST /v1/chat/completions',
    body: { model, stream, messages: [{ role: 'user', content: prompt }] },
  }),
  responses: ({ model, prompt, stream }: Ask) => ({
    line: 'POST /v1/responses',
    body: { model, stream, store: false, input: [{ role: 'user', content: prompt }] },
  }),
  gemini: ({ model, prompt, stream }: Ask) => ({
    line: `POST /v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: { contents: [{ role: 'user', parts: [{ text: prompt }] }] },
  }),
} as const
type Format = keyof typeof formats

interface Given extends Partial<Ask> {
  readonly format?: Format
  readonly key?: string
  readonly url?: string
  readonly headers?: Sent['headers']
}

/** A call, the number of calls of upstreams that it made, and the cache header. */
async function ask({ format = 'messages', key: secret = key, url = service.url, headers = {}, ...rest }: Given = {}) {
  const { line, body } = formats[format]({ model: 'cached', prompt: 'hi', stream: false, ...rest })
  const before = upstreamCalls()
  const answer = await send({ url, key: secret }, line, { body, headers })
  return { answer, calls: upstreamCalls() - before, said: answer.headers['x-switchyard-cache'] }
}

const isMiss = ({ answer, calls, said }: Awaited<ReturnType<typeof ask>>) => {
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual([said, calls], ['miss', 1])
  return answer
}
const isHit = ({ answer, calls, said }: Awaited<ReturnType<typeof ask>>) => {
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual([said, calls], ['hit', 0])
  return answer
}
const isUncached = ({ answer, calls, said }: Awaited<ReturnType<typeof ask>>) => {
  assert.equal(answer.status, 200, answer.text)
  assert.deepEqual([said, calls], [undefined, 1])
}

const rowOf = (answer: Answered): Promise<UsageCall> =>
  eventually(async () => {
    const id = String(answer.headers['x-switchyard-request-id'])
    const { calls } = (await send(service, `GET /api/usage/calls?request_id=${id}`)).json<{ calls: UsageCall[] }>()
    return calls[0]
  })

for (const protocol of everyProtocol) {
  for (const format of Object.keys(formats) as Format[]) {
    for (const stream of [false, true]) {
      test(`H1, ${format} on ${protocol}${stream ? ', streamed' : ''}: the same request gets the same bytes again`, async () => {
        const given = { model: aliasOf(protocol), prompt: fresh(), format, stream }
        const miss = isMiss(await ask(given))
        const hit = isHit(await ask(given))
        assert.match(miss.text, /The answer\./)
        assert.equal(hit.text, miss.text)
        for (const name of ['content-type', 'x-switchyard-degraded'])
          assert.equal(hit.headers[name], miss.headers[name], name)
        assert.match(String(hit.headers['age']), /^\d+$/)
        assert.equal(hit.headers['x-switchyard-deployment'], undefined)
        assert.notEqual(hit.headers['x-switchyard-request-id'], miss.headers['x-switchyard-request-id'])
        assert.equal(hit.headers['content-length'] === undefined, stream)
        isMiss(await ask({ ...given, stream: !stream }))
      })
    }
  }
}

test('H1, embeddings: the same input gets the same vectors again', async () => {
  const body = { model: aliasOf('openai-chat'), input: fresh() }
  const embed = () => send({ ...service, key }, 'POST /v1/embeddings', { body })
  const [miss, hit] = [await embed(), await embed()]
  assert.deepEqual([miss.headers['x-switchyard-cache'], hit.headers['x-switchyard-cache']], ['miss', 'hit'])
  assert.equal(hit.text, miss.text)
})

test('H1, gemini without alt=sse: the same request gets the same JSON array again', async () => {
  const body = formats.gemini({ model: '', prompt: fresh(), stream: true }).body
  const line = `POST /v1beta/models/${aliasOf('openai-chat')}:streamGenerateContent`
  const stream = () => send({ ...service, key }, line, { body })
  const [miss, hit] = [await stream(), await stream()]
  assert.deepEqual([miss.headers['x-switchyard-cache'], hit.headers['x-switchyard-cache']], ['miss', 'hit'])
  assert.equal(hit.text, miss.text)
  assert.ok(Array.isArray(hit.json()))
})

test('H2: refresh asks the upstream and replaces the entry; off does neither; any other word is 400', async () => {
  const prompt = fresh()
  const wanting = (word: string) => ask({ prompt, headers: { 'x-switchyard-cache': word } })
  const first = isMiss(await ask({ prompt }))
  const second = isMiss(await wanting('refresh'))
  assert.notEqual(second.text, first.text)
  isUncached(await wanting('off'))
  // The new entry takes the place of the old one a moment after its answer.
  await eventually(async () => isHit(await ask({ prompt })).text === second.text, { what: 'the refreshed entry' })
  for (const [word, format] of [
    ['on', 'messages'],
    ['', 'chat'],
    ['off, refresh', 'responses'],
  ] as const) {
    const { answer, calls } = await ask({ format, headers: { 'x-switchyard-cache': word } })
    assert.deepEqual([answer.status, calls], [400, 0])
    assert.equal(
      answer.json<{ error: { message: string } }>().error.message,
      'header x-switchyard-cache must be off or refresh',
    )
  }
  const unseen = fresh()
  isUncached(await ask({ prompt: unseen, headers: { 'x-switchyard-cache': 'off' } }))
  isMiss(await ask({ prompt: unseen }))
})

test('H3: no principal gets the answer of another; keys of one owner share theirs', async () => {
  const prompt = fresh()
  isMiss(await ask({ prompt }))
  const bob = await keyOf({ owner_id: 'bob' })
  const [one, other] = [await keyOf(), await keyOf()]
  for (const holder of [bob, one, other]) isMiss(await ask({ prompt, key: holder.key }))
  isMiss(await ask({ prompt, key: service.key }))
  isHit(await ask({ prompt, key: (await keyOf({ owner_id: 'ada' })).key }))
})

test('H4: what decides on an answer must be the same: body, headers for the upstream, query, model', async () => {
  const prompt = fresh()
  isMiss(await ask({ prompt }))
  isMiss(await ask({ prompt, headers: { 'anthropic-beta': 'context-1m-2025-08-07' } }))
  isMiss(await ask({ prompt, headers: { 'anthropic-version': '2023-01-01' } }))
  isMiss(await ask({ prompt, headers: { 'openai-beta': 'x' } }))
  isMiss(await ask({ prompt: `${prompt} ` }))
  isMiss(await ask({ prompt, model: aliasOf('anthropic-messages') }))
  isMiss(await ask({ prompt, format: 'chat' }))
  isHit(await ask({ prompt, headers: { 'user-agent': 'another', 'x-stainless-retry-count': '1' } }))
})

test('H5: the cache is on by key or by model alone, and the time of the key wins', async () => {
  const { key: plain } = await keyOf({ cache: null })
  const prompt = fresh()
  const model = aliasOf('openai-chat')
  for (const _ of [1, 2]) isUncached(await ask({ prompt, model, key: plain }))
  isMiss(await ask({ prompt, key: plain }))
  isHit(await ask({ prompt, key: plain }))

  const short = await keyOf({ cache: { ttl: '1s' } })
  const expiring = fresh()
  const first = isMiss(await ask({ prompt: expiring, key: short.key }))
  const again = await eventually(async () => {
    const later = await ask({ prompt: expiring, key: short.key })
    return later.said === 'miss' && later
  })
  assert.notEqual(again.answer.text, first.text)
})

test('H6: the settings of keys are checked, shown and cleared', async () => {
  const { id, ...record } = await keyOf({ cache: { ttl: '10m' } })
  assert.deepEqual(record.cache, { ttl: '10m' })
  for (const wrong of [{ ttl: '31d' }, { ttl: '0s' }, { ttl: '1w' }, { ttl: 60 }, {}, '1h']) {
    const answer = await send(service, `PATCH /api/keys/${id}`, { body: { cache: wrong } })
    assert.equal(answer.status, 400, JSON.stringify(wrong))
    assert.match(answer.text, /cache/)
  }
  const changed = await send(service, `PATCH /api/keys/${id}`, { body: { cache: null } })
  assert.equal(changed.json<ShownApiKey>().cache, null)
  isUncached(await ask({ key: record.key, model: aliasOf('gemini'), prompt: fresh() }))
})

test('H7: errors, answers that break off and answers whose client leaves are not kept', async () => {
  const broken = [
    { answer: { status: 400, error: 'no' }, stream: false },
    { answer: { text: 'half an answer', breakAtFrame: 3 }, stream: true },
    { answer: { text: 'half an answer', resetAfterBytes: 700 }, stream: true },
  ]
  for (const { answer, stream } of broken) {
    const given = { prompt: `${saying(answer)} ${prompts++}`, stream }
    for (const _ of [1, 2]) {
      const { calls, said } = await ask(given)
      assert.deepEqual([said, calls], ['miss', 1], JSON.stringify(answer))
    }
  }
  const held = `${saying({ text: 'word '.repeat(50), pauseAtFrame: 3 })} ${prompts++}`
  const { line, body } = formats.messages({ model: 'cached', prompt: held, stream: true })
  const upstream = upstreams['anthropic-messages']
  for (const _ of [1, 2]) {
    const leaving = await open({ ...service, key }, line, { body })
    assert.equal(leaving.headers['x-switchyard-cache'], 'miss')
    await once(leaving, 'data')
    leaving.destroy()
    await upstream.requests.at(-1)?.closed
    upstream.release()
  }
})

test('H8: the answer of a fallback is not kept', async () => {
  const prompt = `${fresh()} Anthropic is away`
  for (const _ of [1, 2]) {
    const { answer, calls, said } = await ask({ prompt, model: 'first' })
    assert.deepEqual([answer.status, said, calls], [200, 'miss', 2])
  }
})

test('H9: the ledger marks what the cache answered; it costs nothing and spends no budget, but counts as a request', async () => {
  const { id, key: secret } = await keyOf({ max_budget: 1, rpm_limit: 3 })
  const given = { prompt: `${saying({ usage: { input_tokens: 10, output_tokens: 100 } })} ${prompts++}`, key: secret }
  const miss = isMiss(await ask(given))
  const hit = isHit(await ask(given))
  const [paid, free] = [await rowOf(miss), await rowOf(hit)]
  assert.deepEqual([paid.cached, paid.cost_usd, paid.output_tokens, paid.lane], [false, '0.1', 100, 'raw'])
  const { cached, cost_usd, lane, outcome, status, model, key_id, deployment, attempts } = free
  assert.deepEqual(
    [cached, cost_usd, lane, outcome, status, model, key_id, deployment, attempts],
    [true, '0', 'cache', 'completed', 200, 'cached', id, '', 0],
  )
  assert.deepEqual([free.input_tokens, free.output_tokens, free.cache_read_tokens], [0, 0, 0])
  const record = await eventually(async () => {
    const now = (await send(service, `GET /api/keys/${id}`)).json<ShownApiKey>()
    return now.reserved === 0 && now
  })
  assert.equal(record.spend, 0.1)
  const { totals } = (await send(service, `GET /api/usage?key_id=${id}`)).json<{ totals: UsageFigures }>()
  assert.deepEqual([totals.requests, totals.cached_requests, totals.unpriced_requests], [2, 1, 0])
  assert.equal(hit.headers['anthropic-ratelimit-requests-limit'], '3')
  // Three a minute; a new minute may begin in between.
  const answers = await Promise.all(Array.from({ length: 8 }, () => ask(given)))
  assert.ok(answers.some(({ answer }) => answer.status === 429))
})

test('H10: a key whose budget is used up is rejected, whatever the cache has', async () => {
  const { key: secret } = await keyOf({ max_budget: 0.5, owner_id: 'poor' })
  const { key: rich } = await keyOf({ owner_id: 'poor' })
  const given = { prompt: fresh() }
  isMiss(await ask({ ...given, key: rich }))
  isHit(await ask({ ...given, key: rich }))
  const drained = { prompt: `${saying({ usage: { input_tokens: 1, output_tokens: 450 } })} ${prompts++}`, key: secret }
  await ask(drained)
  await eventually(async () => (await ask({ ...given, key: secret })).answer.status === 402)
})

test('H11: responses that are stored or continue from others are not cached', async () => {
  const input = fresh()
  const post = (body: object) => send({ ...service, key }, 'POST /v1/responses', { body: { model: 'cached', ...body } })
  const first = await post({ input })
  const { id } = first.json<{ id: string }>()
  for (const body of [{ input }, { input, store: true }, { input, store: false, previous_response_id: id }]) {
    for (const _ of [1, 2]) {
      const before = upstreamCalls()
      const answer = await post(body)
      assert.equal(answer.status, 200, answer.text)
      assert.deepEqual([answer.headers['x-switchyard-cache'], upstreamCalls() - before], [undefined, 1])
    }
  }
  const counted = { model: 'cached', messages: [{ role: 'user', content: input }] }
  for (const _ of [1, 2]) {
    const answer = await send({ ...service, key }, 'POST /v1/messages/count_tokens', { body: counted })
    assert.deepEqual([answer.status, answer.headers['x-switchyard-cache']], [200, undefined])
  }
})

test('H12: replicas share the cache', async t => {
  const prompt = fresh()
  const { text } = isMiss(await ask({ prompt }))
  const other = await startService({ config, databaseUrl: service.databaseUrl })
  t.after(() => other.stop())
  const shared = await ask({ prompt, url: other.url })
  assert.equal(isHit(shared).text, text)
})
