import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiKey } from '../../../src/contract/keys.ts'
import { priced, startPricedService, tenCents } from '../../support/keys/priced-service.ts'
import { eventually } from '../../support/service/eventually.ts'
import { type Answered, open, send } from '../../support/service/send.ts'
import type { Recorded } from '../../support/upstream/scripted-upstream.ts'

/** The prompt chooses what the upstream does. */
const script = ({ body }: Recorded) => {
  const text = JSON.stringify(body)
  if (text.includes('takes its time')) return { delayMs: 5_000 }
  if (text.includes('breaks')) return { status: 500, error: 'no' }
  if (text.includes('is cut off')) return { text: 'half an answer', usage: tenCents, resetAfterBytes: 900 }
  if (text.includes('searches')) return { usage: { ...tenCents, server_tool_use: { web_search_requests: 3 } } }
  if (text.includes('goes on for long')) return { text: 'word '.repeat(200), usage: tenCents, chunkDelayMs: 20 }
  return { usage: tenCents }
}
const {
  service,
  upstream,
  key,
  keyRecord,
  request: ask,
} = await startPricedService({
  script,
  models: {
    searching: { ...priced, web_search_cost_per_query: 0.01 },
    based: { base_model: 'anthropic/claude-haiku-4-5', capabilities: { max_output_tokens: 1_000 } },
  },
  config: { router: { retries: 0, fallbacks: { priced: ['other'] } } },
})
const saying = (content: string) => ({ messages: [{ role: 'user', content }] })
const errorOf = (answer: Answered) => answer.json<{ error: { type: string; message: string } }>().error

/** The record of a key once it has no reservations. */
const settled = (id: string): Promise<ApiKey> =>
  eventually(
    async () => {
      const record = await keyRecord(id)
      return record.reserved === 0 && record
    },
    { withinMs: 5_000, what: 'the settlement' },
  )

test('B1: of any number of calls at once, a budget lets in those that it has room for, and none more', async () => {
  const { id, key: secret } = await key({ max_budget: 0.75 })
  const before = upstream.requests.length
  const answers = await Promise.all(Array.from({ length: 200 }, () => ask(secret)))
  const admitted = answers.filter(({ status }) => status === 200).length
  assert.equal(admitted, 7)
  assert.deepEqual(
    answers.filter(({ status }) => status !== 200).map(({ status }) => status),
    Array.from({ length: 193 }, () => 402),
  )
  assert.equal(upstream.requests.length - before, 7)
  assert.equal((await settled(id)).spend, 0.7)
})

test('B2: one call after the other is never rejected for the slot, the tokens or the money of the one before', async () => {
  const { id, key: secret } = await key({ max_parallel_requests: 1, max_budget: 2.1, tpm_limit: 4_000 })
  for (let number = 1; number <= 20; number++) {
    const answer = await ask(secret, { stream: number % 2 === 0 })
    // Tokens are limited by the minute, which may end in between.
    if (answer.status === 429) assert.match(errorOf(answer).message, /4000 tokens per minute/)
    else assert.equal(answer.status, 200, `call ${number}: ${answer.text}`)
  }
  assert.ok((await settled(id)).spend <= 2)
})

test('B2: a rejection shows the figures that the key API shows', async () => {
  const { id, key: secret } = await key({ max_budget: 0.35, budget_duration: '30d' })
  const leaving = new AbortController()
  const waiting = fetch(`${service.url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': secret, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'priced', max_tokens: 100, ...saying('takes its time') }),
    signal: leaving.signal,
  }).catch(() => undefined)
  await eventually(async () => (await keyRecord(id)).reserved === 0.1)
  for (const _ of [1, 2]) assert.equal((await ask(secret)).status, 200)
  await eventually(async () => (await keyRecord(id)).spend === 0.2)
  const refused = await ask(secret)
  const { spend, reserved, max_budget, budget_reset_at } = await keyRecord(id)
  assert.deepEqual([refused.status, spend, reserved, max_budget], [402, 0.2, 0.1, 0.35])
  const { type, message } = errorOf(refused)
  assert.equal(type, 'billing_error')
  assert.equal(
    message,
    `budget of key ${id} is $0.35 per 30d: $0.2 spent, $0.1 reserved for calls in flight, ` +
      `this call may cost up to $0.1; the budget resets at ${budget_reset_at}`,
  )
  leaving.abort()
  await waiting
  // The upstream had the call for a moment: part of its reservation is booked.
  const { spend: booked } = await settled(id)
  assert.ok(booked > 0.2 && booked <= 0.3, String(booked))
})

test('B3: a call that fails, is aborted or breaks off gives back what was held, and pays what it used', async () => {
  const spent = async (work: (secret: string) => Promise<unknown>): Promise<number> => {
    const { id, key: secret } = await key({ max_budget: 1 })
    await work(secret)
    return (await settled(id)).spend
  }
  const leave = async (secret: string) => {
    const body = { model: 'priced', max_tokens: 100, stream: true, ...saying('goes on for long') }
    const response = await open({ ...service, key: secret }, 'POST /v1/messages', { body })
    let bytes = 0
    for await (const chunk of response) {
      bytes += (chunk as Buffer).length
      if (bytes >= 2_000) break
    }
    response.destroy()
  }
  assert.equal(await spent(async secret => assert.equal((await ask(secret, saying('breaks'))).status, 500)), 0)
  const aborted = await spent(leave)
  assert.ok(aborted > 0 && aborted < 1, `aborted in mid-stream: ${aborted}`)
  const cut = await spent(async secret => {
    const answer = await ask(secret, { ...saying('is cut off'), stream: true })
    assert.match(answer.text, /event: error/)
  })
  assert.ok(cut > 0 && cut < 1, `cut off by the upstream: ${cut}`)
})

test('B4: a model without a known price is rejected under a budget, and booked as unknown without one', async () => {
  const limited = await key({ max_budget: 10 })
  const before = upstream.requests.length
  const refused = await ask(limited.key, { model: 'unpriced' })
  assert.equal(refused.status, 403)
  assert.match(errorOf(refused).message, /model unpriced has no known price, and key key_\w+ has a budget/)
  assert.equal(upstream.requests.length, before)
  const free = await key({ rpm_limit: 100 })
  assert.equal((await ask(free.key, { model: 'unpriced' })).status, 200)
  assert.equal((await settled(free.id)).spend, 0)
})

test('B5: a key calls the models of its list alone, by alias and by fallback', async () => {
  const { key: secret } = await key({ models: ['priced'] })
  const other = await ask(secret, { model: 'other' })
  assert.deepEqual([other.status, errorOf(other).type], [403, 'permission_error'])
  assert.match(errorOf(other).message, /this key may not use model other/)
  const modelsSince = (seen: number) => upstream.requests.slice(seen).map(({ body }) => body['model'])

  let seen = upstream.requests.length
  assert.equal((await ask(secret, saying('breaks'))).status, 500)
  assert.deepEqual(modelsSince(seen), ['priced'])
  seen = upstream.requests.length
  const headers = { 'x-switchyard-fallbacks': 'unpriced,other', 'x-api-key': secret }
  const body = { model: 'priced', max_tokens: 100, ...saying('breaks') }
  assert.equal((await send(service, 'POST /v1/messages', { headers, body })).status, 500)
  assert.deepEqual(modelsSince(seen), ['priced'])

  seen = upstream.requests.length
  const both = await key({ models: ['priced', 'other'] })
  assert.equal((await ask(both.key, saying('breaks'))).status, 500)
  assert.deepEqual(modelsSince(seen), ['priced', 'other'])

  const list = await send({ ...service, key: secret }, 'GET /v1/models')
  assert.deepEqual(
    list.json<{ data: { id: string }[] }>().data.map(({ id }) => id),
    ['priced'],
  )
  assert.equal((await send({ ...service, key: secret }, 'GET /v1/models/other')).status, 404)
})

test('B6: a key that was revoked or has expired fails with its next call, though it was used a moment before', async () => {
  const revoked = await key({ max_budget: 5 })
  assert.equal((await ask(revoked.key)).status, 200)
  assert.equal((await send(service, `DELETE /api/keys/${revoked.id}`)).status, 204)
  const answer = await ask(revoked.key)
  assert.deepEqual([answer.status, answer.json()], [401, { error: { type: 'gateway_error', message: 'unauthorized' } }])

  const short = await key({ max_budget: 5, duration: '1s' })
  assert.equal((await ask(short.key)).status, 200)
  const expiresAt = Date.parse((await keyRecord(short.id)).expires_at ?? '')
  await eventually(() => Date.now() > expiresAt)
  assert.equal((await ask(short.key)).status, 401)
})

test('F11: the fees of searches are held before a call, as many as it may make, and booked as it made them', async () => {
  const searching = (uses?: number) => ({
    model: 'searching',
    ...saying('searches'),
    tools: [{ type: 'web_search_20250305', name: 'web_search', ...(uses !== undefined && { max_uses: uses }) }],
  })
  const { id, key: secret } = await key({ max_budget: 0.15 })
  // Ten searches are reserved where the request sets no limit.
  for (const [uses, may] of [
    [6, '0.16'],
    [undefined, '0.2'],
  ] as const) {
    const refused = await ask(secret, searching(uses))
    assert.equal(refused.status, 402)
    assert.match(errorOf(refused).message, new RegExp(`may cost up to \\$${may}`))
  }
  assert.equal((await ask(secret, searching(5))).status, 200)
  assert.equal((await settled(id)).spend, 0.13)
})

test('F7: what is held for a call follows the price of the base_model and the limits of capabilities', async () => {
  const open = { model: 'based', messages: [{ role: 'user', content: 'hi' }] }
  const { key: secret } = await key({ max_budget: 0.005 })
  // At most 1,000 tokens of output at 5 dollars a million, and some input.
  const refused = await send({ ...service, key: secret }, 'POST /v1/chat/completions', { body: open })
  assert.equal(refused.status, 402, refused.text)
  assert.match(errorOf(refused).message, /may cost up to \$0\.006\d*/)
  const enough = await key({ max_budget: 0.02 })
  const answer = await send({ ...service, key: enough.key }, 'POST /v1/chat/completions', { body: open })
  assert.equal(answer.status, 200, answer.text)
})
