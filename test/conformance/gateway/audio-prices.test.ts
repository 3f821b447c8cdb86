import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Deployment } from '../../../src/server/config/deployments.ts'
import { startPair } from './setup.ts'

const question = {
  modalities: ['text', 'audio'],
  audio: { voice: 'alloy', format: 'wav' },
  messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }] }],
}
/** 20 tokens of text and 100 of audio in, 50 and 200 out. */
const usage = {
  prompt_tokens: 120,
  completion_tokens: 250,
  total_tokens: 370,
  prompt_tokens_details: { audio_tokens: 100, text_tokens: 20, cached_tokens: 0 },
  completion_tokens_details: { audio_tokens: 200, text_tokens: 50, reasoning_tokens: 0 },
}
const message = { role: 'assistant', content: null, audio: { id: 'a', data: 'AAAA', transcript: 'Hi' } }
const answer = { id: 'c', object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }], usage }
const chunks = [
  { choices: [{ index: 0, delta: { role: 'assistant', audio: { id: 'a', data: 'AAAA' } } }] },
  { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  { choices: [], usage },
]
const stream = [...chunks.map(chunk => JSON.stringify(chunk)), '[DONE]'].map(data => `data: ${data}\n\n`).join('')

const cases: readonly (readonly [what: string, changes: Partial<Deployment>, cost: string])[] = [
  ['the published price', { provider: 'openai', upstreamModel: 'gpt-4o-audio-preview' }, '0.02055'],
  ['the published price', { provider: 'openai', upstreamModel: 'gpt-audio' }, '0.01655'],
  ['the published price', { provider: 'openrouter', upstreamModel: 'openai/gpt-audio-mini' }, '0.005132'],
  [
    'the price of its parameters',
    { provider: 'own', prices: { input: 1e-6, output: 1e-6, inputAudio: 1e-5, outputAudio: 1e-4 } },
    '0.02107',
  ],
  ['the price of text', { provider: 'own', prices: { input: 1e-6, output: 1e-6 } }, '0.00037'],
]

for (const [what, changes, cost] of cases) {
  test(`audio of ${changes.upstreamModel ?? 'another model'} costs ${what}, streamed or not`, async t => {
    const { post, app } = await startPair(t, 'openai-chat', {
      script: [{ body: JSON.stringify(answer) }, { body: stream, headers: { 'content-type': 'text/event-stream' } }],
      changes,
    })
    for (const isStream of [false, true])
      await (await post({ ...question, stream: isStream }, { path: '/v1/chat/completions' })).text()
    await app.bookedCalls(2)
    for (const { cost_usd, units, input_tokens, output_tokens } of app.booked)
      assert.deepEqual(
        [cost_usd, units, input_tokens, output_tokens],
        [cost, { audio_token: 100, audio_output_token: 200 }, 120, 250],
      )
  })
}

test('audio that Gemini reads costs its own price for clients of every format', async t => {
  const details = (audio: number, text: number) => [
    { modality: 'TEXT', tokenCount: text },
    { modality: 'AUDIO', tokenCount: audio },
  ]
  const usageMetadata = {
    promptTokenCount: 1_100,
    cachedContentTokenCount: 300,
    candidatesTokenCount: 10,
    promptTokensDetails: details(1_000, 100),
    cacheTokensDetails: details(300, 0),
  }
  const content = { role: 'model', parts: [{ text: 'ok' }] }
  const body = JSON.stringify({ candidates: [{ content, finishReason: 'STOP' }], usageMetadata })
  const { post, app } = await startPair(t, 'gemini', {
    script: [{ body }],
    changes: { provider: 'gemini', upstreamModel: 'gemini-2.5-flash' },
  })
  await (await post({})).text()
  await (await post({}, { path: '/v1/chat/completions' })).text()
  await app.bookedCalls(2)
  // 100 of text at 0.3, 700 of audio at 1, 300 of cached audio at 0.1, and 10 at 2.5 dollars per million.
  for (const { cost_usd, rates } of app.booked)
    assert.deepEqual([cost_usd, rates?.['input_audio']], ['0.000785', '0.000001'])
})
