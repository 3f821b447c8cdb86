import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { startEndpointUpstream } from '../support/upstream/endpoint-upstream.ts'

const upstream = await startEndpointUpstream()
const at = (provider: string, base: string, alias = `${provider}/*`, model = alias) => ({
  model_name: alias,
  params: { model, api_base: `${upstream.url}${base}`, api_key: 'sk-upstream-0123456789' },
})
const service = await startService({
  config: JSON.stringify({
    model_list: [
      at('anthropic', ''),
      at('openai', '/v1'),
      at('gemini', ''),
      at('openai', '/v1', 'prod/gpt-4o', 'openai/gpt-4o'),
    ],
    outbound: { allow: [new URL(upstream.url).host] },
  }),
})
after(() => upstream.stop())

const messages = [{ role: 'user', content: 'Hello' }]
const calls: readonly (readonly [line: string, body: object])[] = [
  ['POST /anthropic/v1/messages', { model: 'claude-sonnet-4-5', max_tokens: 10, messages }],
  ['POST /openai/v1/chat/completions', { model: 'gpt-4o', messages }],
  ['POST /openai/v1/responses', { model: 'gpt-4o', input: 'Hello' }],
  ['POST /openai/v1/audio/speech', { model: 'tts-1', input: 'Hello' }],
  ['POST /gemini/v1beta/models/gemini-2.5-flash:generateContent', { contents: [] }],
]
const own: readonly (readonly [line: string, body: object])[] = [
  ['POST /v1/messages', { model: 'claude-sonnet-4-5', max_tokens: 10, messages }],
  ['POST /v1/audio/speech', { model: 'openai/tts-1', input: 'Hello' }],
  ['POST /v1beta/models/gemini/gemini-2.5-flash:generateContent', { contents: [] }],
  ['POST /openai/deployments/prod/gpt-4o/chat/completions', { messages }],
]

for (const [path, body] of [...calls, ...own]) {
  test(`${path}: a compressed body is 415 in the same words everywhere`, async () => {
    const before = upstream.requests.length
    const headers = { 'content-encoding': 'gzip' }
    const answer = await send(service, path, { headers, body: gzipSync(JSON.stringify(body)) })
    assert.equal(answer.status, 415, answer.text)
    assert.equal(
      answer.json<{ error: { message: string } }>().error.message,
      'content-encoding is not supported; send plain JSON',
    )
    assert.equal(upstream.requests.length, before)
  })
}

test('a name that the key may not use is 403 below a provider’s path too, whether anything has it or not', async () => {
  const narrow = await holderOf(service, { models: ['anthropic/claude-sonnet-4-5'] })
  const before = upstream.requests.length
  const refused = [
    ['POST /anthropic/v1/messages', 'claude-opus-4-5'],
    ['POST /anthropic/v1/messages', 'prod/gpt-4o'],
    ['POST /anthropic/v1/messages', 'prod/nothing'],
    ['POST /openai/v1/chat/completions', 'gpt-4o'],
    ['POST /openai/v1/chat/completions', 'prod/gpt-4o'],
    ['POST /openai/v1/chat/completions', 'prod/nothing'],
    ['POST /v1/messages', 'prod/nothing'],
  ] as const
  for (const [path, model] of refused) {
    const { status, text } = await send(narrow, path, { body: { model, max_tokens: 10, messages } })
    assert.equal(status, 403, `${path} ${model}: ${text}`)
    assert.match(text, /this key may not use model/)
  }
  const gemini = await send(narrow, 'POST /gemini/v1beta/models/nothing:generateContent', {
    body: { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
  })
  assert.equal(gemini.status, 403, gemini.text)
  assert.equal(upstream.requests.length, before)

  const wide = await holderOf(service, { models: ['prod/*', 'other/*'] })
  const unknown = await send(wide, 'POST /openai/v1/chat/completions', { body: { model: 'other/nothing', messages } })
  assert.equal(unknown.status, 404, unknown.text)
  upstream.answer({ body: JSON.stringify({ id: 'c', object: 'chat.completion', choices: [] }) })
  const known = await send(wide, 'POST /openai/v1/chat/completions', { body: { model: 'prod/gpt-4o', messages } })
  assert.equal(known.status, 200, known.text)
})
