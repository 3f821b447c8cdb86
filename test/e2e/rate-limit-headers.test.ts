import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { test } from 'node:test'
import { makeKey } from '../support/keys/virtual-keys.ts'
import { send } from '../support/service/send.ts'
import { startScriptedService } from '../support/upstream/scripted-service.ts'

const ofUpstream = {
  'anthropic-ratelimit-requests-remaining': '777',
  'anthropic-ratelimit-input-tokens-remaining': '778',
  'x-ratelimit-remaining-requests': '779',
}
const { service } = await startScriptedService({
  models: ['m'],
  script: [{ text: 'Hello.', headers: ofUpstream }],
})
const messages = [{ role: 'user', content: 'hi' }]
const contents = [{ role: 'user', parts: [{ text: 'hi' }] }]
const calls = {
  messages: ['POST /v1/messages', { model: 'm', max_tokens: 10, messages }],
  chat: ['POST /v1/chat/completions', { model: 'm', max_tokens: 10, messages }],
  responses: ['POST /v1/responses', { model: 'm', max_output_tokens: 10, input: 'hi' }],
  gemini: ['POST /v1beta/models/m:generateContent', { contents, generationConfig: { maxOutputTokens: 10 } }],
} as const

const call = (name: keyof typeof calls, key: string, more: object = {}) => {
  const [line, body] = calls[name]
  return send({ url: service.url, key }, line, { body: { ...body, ...more } })
}
const limitsIn = (headers: IncomingHttpHeaders) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.includes('ratelimit-')))

for (const stream of [false, true]) {
  test(`P4: a successful answer has the limits of the key in Anthropic’s headers${stream ? ', streamed' : ''}`, async () => {
    const { key } = await makeKey(service, { rpm_limit: 5, tpm_limit: 10_000 })
    const { status, headers } = await call('messages', key, { stream })
    const limits = limitsIn(headers)
    assert.equal(status, 200)
    assert.deepEqual(Object.keys(limits).sort(), [
      'anthropic-ratelimit-requests-limit',
      'anthropic-ratelimit-requests-remaining',
      'anthropic-ratelimit-requests-reset',
      'anthropic-ratelimit-tokens-limit',
      'anthropic-ratelimit-tokens-remaining',
      'anthropic-ratelimit-tokens-reset',
    ])
    assert.deepEqual(
      [limits['anthropic-ratelimit-requests-limit'], limits['anthropic-ratelimit-requests-remaining']],
      ['5', '4'],
    )
    assert.equal(limits['anthropic-ratelimit-tokens-limit'], '10000')
    const left = Number(limits['anthropic-ratelimit-tokens-remaining'])
    assert.ok(left > 0 && left < 10_000, `${left} tokens`)
    assert.match(String(limits['anthropic-ratelimit-requests-reset']), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  })

  test(`P4: a successful answer has the limits of the key in OpenAI’s headers${stream ? ', streamed' : ''}`, async () => {
    for (const name of ['chat', 'responses'] as const) {
      const { key } = await makeKey(service, { rpm_limit: 5 })
      const { status, headers } = await call(name, key, { stream })
      const { 'x-ratelimit-reset-requests': reset, ...limits } = limitsIn(headers)
      assert.deepEqual(
        [status, limits],
        [200, { 'x-ratelimit-limit-requests': '5', 'x-ratelimit-remaining-requests': '4' }],
      )
      assert.match(String(reset), /^\d{1,2}s$/)
    }
  })
}

test('P4: a key that has used its minute reads 0 remaining on the 429', async () => {
  const { key } = await makeKey(service, { rpm_limit: 1 })
  assert.equal((await call('chat', key)).headers['x-ratelimit-remaining-requests'], '0')
  const chat = await call('chat', key)
  assert.deepEqual([chat.status, chat.headers['x-ratelimit-remaining-requests']], [429, '0'])
  const anthropic = await call('messages', key)
  assert.deepEqual([anthropic.status, anthropic.headers['anthropic-ratelimit-requests-remaining']], [429, '0'])
})

test('P4: Google’s clients get no such headers, and none of the upstream’s, under a key with limits', async () => {
  const { key } = await makeKey(service, { rpm_limit: 5 })
  const { status, headers } = await call('gemini', key)
  assert.deepEqual([status, limitsIn(headers)], [200, {}])
})

test('P4: without limits of the key no limit of ours is stated, and those of the upstream pass as they are', async () => {
  const { key } = await makeKey(service, {})
  const { headers } = await call('messages', key)
  assert.deepEqual(limitsIn(headers), ofUpstream)
})
