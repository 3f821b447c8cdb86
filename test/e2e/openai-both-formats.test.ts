import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import OpenAI from 'openai'
import { startService } from '../support/service/service.ts'
import type { Dialect } from '../support/upstream/dialects/dialect.ts'
import { openaiChat } from '../support/upstream/dialects/openai-chat.ts'
import { openaiResponses } from '../support/upstream/dialects/openai-responses.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

/** OpenAI's servers: one address for both formats, each with its own answers. */
const start = async (dialect: Dialect) => {
  const upstream = await startScriptedUpstream({ dialect, script: [{ text: 'Hello there.' }] })
  after(() => upstream.stop())
  return upstream
}
const chats = await start(openaiChat)
const responses = await start(openaiResponses)
const at = (url: string, model: string) => ({ model, api_base: `${url}/v1`, api_key: 'sk-upstream' })
const service = await startService({
  config: JSON.stringify({
    model_list: [
      { model_name: 'openai/*', params: at(chats.url, 'openai/*') },
      { model_name: 'second/*', params: at(responses.url, 'openai/*') },
      { model_name: 'pinned', params: { ...at(chats.url, 'openai/gpt-5.5'), protocol: 'openai-chat' } },
    ],
    outbound: { allow: [chats, responses].map(({ port }) => `127.0.0.1:${port}`) },
  }),
})

let given = ''
const client = new OpenAI({
  baseURL: `${service.url}/v1`,
  apiKey: service.key,
  maxRetries: 0,
  fetch(url, init) {
    given = String(init?.body)
    return fetch(url, init)
  },
})
const said = (content: string) => ({ role: 'user' as const, content })
const arrived = ({ requests }: typeof chats) => requests.at(-1)?.rawBody.toString()

test('openai 7.55.0 on a model of OpenAI that names no protocol: chats arrive as chats, with all their fields', async () => {
  const request = {
    model: 'openai/gpt-5.5',
    messages: [said('hi'), { role: 'system' as const, content: 'Be brief.' }, said('go on')],
    seed: 7,
    n: 1,
    stop: ['END'],
    logprobs: true,
    logit_bias: { '50256': -100 },
    prediction: { type: 'content' as const, content: 'Hello there.' },
  }
  const whole = await client.chat.completions.create(request)
  assert.equal(whole.choices[0]?.message.content, 'Hello there.')
  assert.equal(arrived(chats), given.replace('openai/gpt-5.5', 'gpt-5.5'))
  const stream = await client.chat.completions.create({ ...request, stream: true })
  const texts = (await Array.fromAsync(stream)).map(({ choices }) => choices[0]?.delta.content ?? '')
  assert.equal(texts.join(''), 'Hello there.')
  assert.equal(arrived(chats), given.replace('openai/gpt-5.5', 'gpt-5.5'))
})

test('openai 7.55.0 on a model of OpenAI that names no protocol: responses arrive as responses', async () => {
  const request = { model: 'second/gpt-5.5', input: 'hi', truncation: 'auto' as const, prompt_cache_key: 'a' }
  assert.equal((await client.responses.create(request)).output_text, 'Hello there.')
  assert.equal(arrived(responses), given.replace('second/gpt-5.5', 'gpt-5.5'))
  const { output_text } = await client.responses.stream(request).finalResponse()
  assert.equal(output_text, 'Hello there.')
  assert.equal(arrived(responses), given.replace('second/gpt-5.5', 'gpt-5.5'))
})

test('openai 7.55.0 on a pinned model of OpenAI: a response is translated to a chat', async () => {
  assert.equal((await client.responses.create({ model: 'pinned', input: 'hi' })).output_text, 'Hello there.')
  assert.equal(chats.requests.at(-1)?.url, '/v1/chat/completions')
})
