import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { deploymentAt, startGatewayApp } from '../../support/gateway/gateway-app.ts'
import { dataFrame } from '../../support/upstream/dialects/dialect.ts'
import type { Answer } from '../../support/upstream/scripted-answer.ts'
import { startScriptedUpstream } from '../../support/upstream/scripted-upstream.ts'
import { everyProtocol, type SpokenProtocol, spoken } from '../../support/upstream/spoken-protocols.ts'
import { simple } from './setup.ts'

/** Requests by the path that clients call, whole or streamed. */
const clients: Readonly<Record<string, (stream: boolean) => { readonly path: string; readonly body: object }>> = {
  messages: stream => ({ path: '/v1/messages', body: { model: 'test-model', ...simple, stream } }),
  chat: stream => ({ path: '/v1/chat/completions', body: { model: 'test-model', ...simple, stream } }),
  responses: stream => ({ path: '/v1/responses', body: { model: 'test-model', input: 'hi', stream } }),
  gemini: stream => ({
    path: `/v1beta/models/test-model:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  }),
}

/** A model that answers with `first`, and another one behind it that says "fine". */
async function pairOf(t: TestContext, protocol: SpokenProtocol, first: Answer, policyFallbacks = {}) {
  const { dialect, provider, model } = spoken[protocol]
  const upstream = await startScriptedUpstream({ dialect, script: [first, { text: 'fine' }] })
  const at = (alias: string) =>
    deploymentAt(upstream.url, {
      id: `${alias}.1`,
      alias,
      protocols: [protocol],
      provider,
      upstreamModel: model,
      prices,
    })
  const app = await startGatewayApp({
    deployments: [at('test-model'), at('other')],
    demo: false,
    router: { policyFallbacks },
  })
  t.after(async () => {
    await app.stop()
    await upstream.stop()
  })
  const ask = async (client: string, stream: boolean, headers: Record<string, string> = {}) => {
    const { path, body } = clients[client]?.(stream) ?? assert.fail(client)
    const response = await app.post(body, { path, headers })
    const { status, headers: got } = response
    return {
      status,
      text: await response.text(),
      served: [got.get('x-switchyard-deployment'), got.get('x-switchyard-attempts')],
    }
  }
  return Object.assign(ask, { app })
}

const prices = { input: 1, output: 1 }
const toOther = { 'test-model': ['other'] }
const silent: Answer = { isEmpty: true, stopReason: 'refusal' }

const choice = (delta: object, finish: string | null = null) =>
  dataFrame({
    id: 'c',
    object: 'chat.completion.chunk',
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
  })
const refusal = 'I cannot help with that.'
const part = { type: 'refusal', refusal }
const item = { id: 'msg_1', type: 'message', status: 'completed', role: 'assistant', content: [part] }
const reasoning = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'e' }
const response = {
  ...{ id: 'resp_1', object: 'response', model: 'm', status: 'completed', output: [reasoning, item] },
  usage: { input_tokens: 5, output_tokens: 5, total_tokens: 10 },
}
const event = (type: string, fields: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
const place = { item_id: 'msg_1', output_index: 1, content_index: 0 }

const blocked = { promptFeedback: { blockReason: 'PROHIBITED_CONTENT' }, usageMetadata: { promptTokenCount: 5 } }

/** Other forms of refusals: in words of the model's own, in the field that OpenAI's formats have for them; of the prompt itself. */
const others: Readonly<Partial<Record<SpokenProtocol, { readonly whole: Answer; readonly stream: Answer }>>> = {
  'openai-chat': {
    whole: {
      body: JSON.stringify({
        ...{ id: 'c', object: 'chat.completion', model: 'm' },
        choices: [{ index: 0, message: { role: 'assistant', content: null, refusal }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 },
      }),
    },
    stream: {
      frames: [
        choice({ role: 'assistant', content: '', refusal: null }),
        choice({ refusal: 'I cannot ' }),
        choice({ refusal: 'help with that.' }),
        choice({}, 'stop'),
        'data: [DONE]\n\n',
      ],
    },
  },
  gemini: { whole: { body: JSON.stringify(blocked) }, stream: { frames: [dataFrame(blocked)] } },
  'openai-responses': {
    whole: { body: JSON.stringify(response) },
    stream: {
      frames: [
        event('response.created', { response: { ...response, status: 'in_progress', output: [] } }),
        event('response.output_item.added', { output_index: 0, item: reasoning }),
        event('response.output_item.done', { output_index: 0, item: reasoning }),
        event('response.output_item.added', { output_index: 1, item: { ...item, content: [] } }),
        event('response.content_part.added', { ...place, part: { ...part, refusal: '' } }),
        event('response.refusal.delta', { ...place, delta: refusal }),
        event('response.refusal.done', { ...place, refusal }),
        event('response.content_part.done', { ...place, part }),
        event('response.output_item.done', { output_index: 1, item }),
        event('response.completed', { response }),
      ],
    },
  },
}

for (const protocol of everyProtocol) {
  for (const client of Object.keys(clients)) {
    for (const stream of [false, true]) {
      const how = `${client}${stream ? ', streamed' : ''}`
      test(`F11, ${protocol}: an answer that is only a refusal moves to the policy fallback, unseen by ${how}`, async t => {
        const otherForm = others[protocol]?.[stream ? 'stream' : 'whole']
        for (const first of [silent, ...(otherForm ? [otherForm] : [])]) {
          const ask = await pairOf(t, protocol, first, toOther)
          const { status, text, served } = await ask(client, stream)
          assert.deepEqual([status, served], [200, ['other.1', '2']], text)
          assert.match(text, /fine/)
          assert.doesNotMatch(text, /cannot|refusal":"|content_filter|SAFETY/)
        }
      })
    }
  }

  test(`F11, ${protocol}: without a policy fallback, or behind content, a refusal is the answer`, async t => {
    const shown: readonly (readonly [Answer, object])[] = [
      [silent, {}],
      [{ text: 'partly', stopReason: 'refusal' }, toOther],
      [{ text: 'partly' }, toOther],
    ]
    for (const [first, fallbacks] of shown) {
      for (const stream of [false, true]) {
        const ask = await pairOf(t, protocol, first, fallbacks)
        const { status, text, served } = await ask('messages', stream)
        assert.deepEqual([status, served], [200, ['test-model.1', '1']], text)
        if (first.text !== undefined) assert.match(text, /partly/)
      }
    }
  })

  test(`F11, ${protocol}: what the declined answer cost is in the row of the call`, async t => {
    const costOf = async (first: Answer, stream: boolean) => {
      const ask = await pairOf(t, protocol, first, toOther)
      await ask('messages', stream)
      await ask.app.bookedCalls(1)
      return Number(ask.app.booked[0]?.cost_usd)
    }
    for (const stream of [false, true]) {
      const [one, both] = [await costOf({ text: 'fine' }, stream), await costOf(silent, stream)]
      assert.ok(one > 0 && both > 1.5 * one, `${one}, ${both}`)
    }
  })

  test(`F11, ${protocol}: a caller’s own fallbacks take a refusal too`, async t => {
    const ask = await pairOf(t, protocol, silent)
    const { served, text } = await ask('messages', true, { 'x-switchyard-fallbacks': 'other' })
    assert.deepEqual(served, ['other.1', '2'], text)
  })

  test(`F11, ${protocol}: the upstream’s rate limits reach the client with an answer, as with an error`, async t => {
    const headers = { 'x-ratelimit-remaining-requests': '7', 'anthropic-ratelimit-requests-remaining': '7' }
    const { dialect, provider, model } = spoken[protocol]
    const upstream = await startScriptedUpstream({ dialect, script: [{ headers }] })
    const deployment = deploymentAt(upstream.url, { protocols: [protocol], provider, upstreamModel: model })
    const app = await startGatewayApp({ deployments: [deployment], demo: false })
    t.after(async () => {
      await app.stop()
      await upstream.stop()
    })
    for (const client of Object.keys(clients)) {
      for (const stream of [false, true]) {
        const { path, body } = clients[client]?.(stream) ?? assert.fail(client)
        const answer = await app.post(body, { path })
        await answer.text()
        for (const name of Object.keys(headers)) assert.equal(answer.headers.get(name), '7', `${client} ${name}`)
      }
    }
  })
}
