import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordOf, recordsOf } from '../../../platform/json.ts'
import { createCallSignatures } from '../../core/reasoning-signers.ts'
import { openaiChat } from './codec.ts'
import { contextOf, conversation, deploymentOf, frame } from './fixtures.ts'

const toolUse = (id: string) => ({ type: 'tool_use', id, name: 'ls', input: {} })
const result = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: 'seen' })

for (const upstreamModel of ['Qwen/Qwen3.6-27B-FP8', 'qwen3.8:27b', 'google/gemma-3-27b-it', 'devstral-small-latest']) {
  test(`M6: ${upstreamModel} gets all instructions at the start or in turns of the user, which alternate`, () => {
    const { messages, degraded } = conversation(
      [
        { role: 'system', content: 'one' },
        { role: 'system', content: 'two' },
        { role: 'user', content: 'a' },
        { role: 'system', content: [{ type: 'text', text: 'three' }] },
        { role: 'user', content: 'b' },
        { role: 'assistant', content: [toolUse('a12345678')] },
        { role: 'system', content: 'four' },
        { role: 'user', content: [result('a12345678'), { type: 'text', text: 'c' }] },
      ],
      { upstreamModel },
    )
    assert.deepEqual(
      messages.map(({ role, content }) => [role, content]),
      [
        ['system', 'one\n\ntwo'],
        ['user', 'a\n\n<system>\nthree\n</system>\n\nb'],
        ['assistant', null],
        ['tool', 'seen'],
        ['user', '<system>\nfour\n</system>\n\nc'],
      ],
    )
    assert.deepEqual(degraded, ['messages.3=moved_to_user', 'messages.6=moved_to_user'])
  })
}

test('T13: Mistral gets ids of nine letters and digits, equal in call and result; its own stay', () => {
  for (const id of ['toolu_01A09q90qw90lq917835lq9', 'D681PevKs']) {
    const { messages } = conversation(
      [
        { role: 'assistant', content: [toolUse(id)] },
        { role: 'user', content: [result(id)] },
      ],
      { upstreamModel: 'mistral-large-latest' },
    )
    const [call] = recordsOf(messages[0]?.['tool_calls'])
    assert.match(String(call?.['id']), /^[a-zA-Z0-9]{9}$/)
    assert.equal(messages[1]?.['tool_call_id'], call?.['id'])
    if (id.length === 9) assert.equal(call?.['id'], id)
  }
})

test('K5: the signature of Gemini’s first call returns with it; an unknown one is replaced', () => {
  const context = contextOf({ upstreamModel: 'google/gemini-3-pro-preview', callSignatures: createCallSignatures() })
  const called = { id: 'call_a', function: { name: 'ls', arguments: '{}' } }
  const extra_content = { google: { thought_signature: 'state' } }
  const decoder = openaiChat.decoder(context)
  decoder.push(frame({ choices: [{ delta: { tool_calls: [{ index: 0, ...called, extra_content }] } }] }))
  const messages = [
    { role: 'assistant', content: [toolUse('call_a'), toolUse('call_b')] },
    { role: 'user', content: [result('call_a'), result('call_b')] },
    { role: 'assistant', content: [toolUse('call_c')] },
    { role: 'user', content: [result('call_c')] },
  ]
  const signaturesFor = (upstreamModel: string) =>
    conversation(messages, { ...context, upstreamModel }).messages.flatMap(({ tool_calls }) =>
      recordsOf(tool_calls).map(call => recordOf(recordOf(call['extra_content'])['google'])['thought_signature']),
    )
  const placeholder = 'skip_thought_signature_validator'
  assert.deepEqual(signaturesFor('google/gemini-3-pro-preview'), ['state', undefined, placeholder])
  assert.deepEqual(signaturesFor('gemini-2.5-pro'), [undefined, undefined, undefined])
})

test('K5: DeepSeek and Kimi get reasoning in each answer: their own, or a blank for what they did not think', () => {
  const thought = (signature: string) => ({ type: 'thinking', thinking: 'hm', signature })
  const messages = [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: [thought('of another'), toolUse('t1')] },
    { role: 'user', content: [result('t1')] },
    { role: 'assistant', content: [thought('sealed:reasoning_content'), { type: 'text', text: 'b' }] },
    { role: 'user', content: 'c' },
  ]
  const reasoningFor = (upstreamModel: string, apiBase: string, given = messages) =>
    conversation(given, { upstreamModel, deployment: { ...deploymentOf('openai-compatible'), apiBase } })
      .messages.filter(({ role }) => role === 'assistant')
      .map(({ reasoning_content: reasoning }) => reasoning)
  assert.deepEqual(reasoningFor('deepseek-v4-pro', 'https://api.deepseek.com/v1'), [' ', 'hm'])
  assert.deepEqual(reasoningFor('moonshotai/Kimi-K2.5', 'https://host.example/v1'), [' ', 'hm'])
  assert.deepEqual(reasoningFor('kimi-k2', 'https://host.example/v1', messages.slice(0, 3)), [undefined])
  assert.deepEqual(reasoningFor('some-model', 'https://host.example/v1'), [undefined, undefined])
})
