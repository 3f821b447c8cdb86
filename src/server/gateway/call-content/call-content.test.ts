import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wholeEchoes } from '../../platform/echoes.ts'
import type { Call } from '../core/call.ts'
import { contentOf } from './call-content.ts'

const none = wholeEchoes([])
const callOf = (kind: Call['kind'], body: unknown): Call => ({
  kind,
  body: Buffer.from(JSON.stringify(body)),
  headers: {},
  query: '',
  requestId: 'req_1',
  caller: { principal: 'ada', key: undefined },
  signal: AbortSignal.abort(),
})
const whole = (body: unknown) => ({ content_type: 'application/json', body: Buffer.from(JSON.stringify(body)) })
const stream = (...frames: readonly object[]) => ({
  content_type: 'text/event-stream; charset=utf-8',
  body: Buffer.from(frames.map(frame => `data: ${JSON.stringify(frame)}\n\n`).join('')),
})
const none_ = { content_type: null, body: null }
const read = (...given: Parameters<typeof contentOf> extends [infer C, infer A, unknown] ? [C, A] : never) => {
  const { system, input, output } = contentOf(...given, none)
  const value = (text: string | undefined) => (text === undefined ? undefined : (JSON.parse(text) as unknown))
  return { system: value(system), input: value(input), output: value(output) }
}

test('Anthropic: system, texts, tool calls, their results and the answer', () => {
  const call = callOf('messages', {
    model: 'm',
    max_tokens: 10,
    system: 'Be terse.',
    messages: [
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'bash', input: { command: 'ls' } }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'a b' }] }] },
      { role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aaaa' } }] },
    ],
  })
  const answer = { type: 'message', content: [{ type: 'text', text: 'Hi' }], stop_reason: 'max_tokens', usage: {} }
  assert.deepEqual(read(call, whole(answer)), {
    system: [{ type: 'text', content: 'Be terse.' }],
    input: [
      { role: 'user', parts: [{ type: 'text', content: 'Hello' }] },
      { role: 'assistant', parts: [{ type: 'tool_call', id: 't', name: 'bash', arguments: { command: 'ls' } }] },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 't', response: 'a b' }] },
      { role: 'user', parts: [{ type: 'image' }] },
    ],
    output: [{ role: 'assistant', parts: [{ type: 'text', content: 'Hi' }], finish_reason: 'length' }],
  })
})

test('OpenAI: a chat with a streamed answer, and a response', () => {
  const chat = callOf('chat', { model: 'm', messages: [{ role: 'user', content: 'Hello' }], stream: true })
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    choices: [{ index: 0, delta, finish_reason }],
  })
  const said = read(
    chat,
    stream(chunk({ role: 'assistant', content: 'Hi ' }), chunk({ content: 'you' }), chunk({}, 'stop')),
  )
  assert.deepEqual(said.input, [{ role: 'user', parts: [{ type: 'text', content: 'Hello' }] }])
  assert.deepEqual(said.output, [
    { role: 'assistant', parts: [{ type: 'text', content: 'Hi you' }], finish_reason: 'stop' },
  ])
  const responses = callOf('responses', { model: 'm', instructions: 'Be terse.', input: 'Hello' })
  const { system, input } = read(responses, none_)
  assert.deepEqual(system, [{ type: 'text', content: 'Be terse.' }])
  assert.deepEqual(input, [{ role: 'user', parts: [{ type: 'text', content: 'Hello' }] }])
})

test('Gemini: a call with its answer', () => {
  const call = callOf('gemini', { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] })
  const answer = { candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }] }
  const { input, output } = read(call, whole(answer))
  assert.deepEqual(input, [{ role: 'user', parts: [{ type: 'text', content: 'Hello' }] }])
  assert.deepEqual(output, [{ role: 'assistant', parts: [{ type: 'text', content: 'Hi' }], finish_reason: 'stop' }])
})

test('what cannot be read is left out', () => {
  const nothing = { system: undefined, input: undefined, output: undefined }
  assert.deepEqual(read(callOf('messages', { messages: 7 }), none_), nothing)
  assert.deepEqual(read({ ...callOf('messages', {}), body: Buffer.from('no JSON') }, whole({})), nothing)
  assert.deepEqual(read({ ...callOf('messages', {}), body: Buffer.alloc(1024 * 1024 + 1, 32) }, none_), nothing)
  assert.deepEqual(read(callOf('embeddings', { input: 'x' }), none_), nothing)
})

test('a long conversation keeps its newest messages, and every text is bounded', () => {
  const messages = Array.from({ length: 100 }, (_, index) => ({
    role: 'user',
    content: `${index} ${'x'.repeat(1_000)}`,
  }))
  const { input = '' } = contentOf(callOf('messages', { model: 'm', max_tokens: 1, messages }), none_, none)
  assert.ok(input.length < 36_000, String(input.length))
  const kept = JSON.parse(input) as { parts: { content: string }[] }[]
  assert.match(kept.at(-1)?.parts[0]?.content ?? '', /^99 x{1000}$/)
  const one = callOf('messages', {
    model: 'm',
    max_tokens: 1,
    messages: [{ role: 'user', content: 'y'.repeat(100_000) }],
  })
  assert.ok((contentOf(one, none_, none).input ?? '').length < 36_000)
})

test('credentials are removed', () => {
  const secret = 'sk-upstream-credential'
  const content = `my key is sk-0123456789abcdef, and yours ${secret}`
  const call = callOf('messages', { model: 'm', max_tokens: 1, messages: [{ role: 'user', content }] })
  const { input } = contentOf(call, none_, wholeEchoes([secret]))
  assert.equal(input, '[{"role":"user","parts":[{"type":"text","content":"my key is [secret], and yours [secret]"}]}]')
})
