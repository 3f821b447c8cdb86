import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sseReader } from '../../../../../src/contract/sse.ts'
import { type Answer, type AnswerReader, contentOf, emptyAnswer, frameOf } from './answer.ts'
import { turnsAfter } from './continue.ts'
import { readChat } from './read-chat.ts'
import { readMessages } from './read-messages.ts'
import { readResponses } from './read-responses.ts'

const sse = (events: readonly unknown[]): string =>
  events.map(event => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('')

/** Reads a stream that arrives in pieces of `size` characters. */
function read(reader: AnswerReader, events: readonly unknown[], size = 7): Answer {
  const frames = sseReader()
  const text = sse(events)
  let answer = emptyAnswer
  for (let at = 0; at < text.length; at += size) {
    for (const frame of frames(text.slice(at, at + size))) {
      const parsed = frameOf(frame)
      if (parsed) answer = reader(answer, parsed)
    }
  }
  return answer
}

const messages = [
  { type: 'message_start', message: { usage: { input_tokens: 9, cache_read_input_tokens: 4, output_tokens: 1 } } },
  { type: 'ping' },
  { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'sig' } },
  { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Hel' } },
  { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'lo' } },
  { type: 'content_block_start', index: 2, content_block: { type: 'tool_use', id: 't1', name: 'look', input: {} } },
  { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"a":' } },
  { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '1}' } },
  { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 30 } },
  { type: 'message_stop' },
]

const chat = [
  { choices: [{ delta: { role: 'assistant', reasoning_content: 'hm' } }] },
  { choices: [{ delta: { content: 'Hel' } }] },
  { choices: [{ delta: { content: 'lo' } }] },
  { choices: [{ delta: { tool_calls: [{ index: 0, id: 't1', function: { name: 'look', arguments: '' } }] } }] },
  { choices: [{ delta: { tool_calls: [{ index: 0, function: { arguments: '{"a":1}' } }] } }] },
  { choices: [{ delta: {}, finish_reason: 'tool_use' }] },
  { choices: [], usage: { prompt_tokens: 13, completion_tokens: 30, prompt_tokens_details: { cached_tokens: 4 } } },
  '[DONE]',
]

const responses = [
  { type: 'response.created', response: {} },
  { type: 'response.reasoning_summary_part.added', summary_index: 0 },
  { type: 'response.reasoning_summary_text.delta', delta: 'hm' },
  { type: 'response.output_text.delta', delta: 'Hel' },
  { type: 'response.output_text.delta', delta: 'lo' },
  { type: 'response.output_item.added', item: { type: 'function_call', call_id: 't1', name: 'look', arguments: '' } },
  { type: 'response.function_call_arguments.delta', delta: '{"a":1}' },
  { type: 'response.output_item.done', item: { type: 'function_call', call_id: 't1', name: 'look', arguments: '{}' } },
  {
    type: 'response.completed',
    response: { usage: { input_tokens: 13, output_tokens: 30, input_tokens_details: { cached_tokens: 4 } } },
  },
]

const blocks = [
  { kind: 'text', text: 'Hello' },
  { kind: 'tool', id: 't1', name: 'look', input: '{"a":1}' },
]
const usage = { input: 9, output: 30, cached: 4 }

test('an answer of Messages has its thinking with the signature, text, call and usage', () => {
  const answer = read(readMessages, messages)
  assert.deepEqual(answer.blocks, [{ kind: 'thinking', text: 'hm', signature: 'sig' }, ...blocks])
  assert.deepEqual([answer.usage, answer.stopReason, answer.isComplete], [usage, 'tool_use', true])
})

for (const [name, reader, events, reason] of [
  ['Chat Completions', readChat, chat, 'tool_use'],
  ['Responses', readResponses, responses, 'completed'],
] as const) {
  test(`an answer of ${name} has its reasoning, text, call and usage`, () => {
    const answer = read(reader, events)
    assert.deepEqual(answer.blocks, [{ kind: 'thinking', text: 'hm' }, ...blocks])
    assert.deepEqual([answer.usage, answer.stopReason, answer.isComplete], [usage, reason, true])
  })
}

test('a stream gives the same answer however it is split', () => {
  for (const size of [1, 3, 50, 10_000])
    assert.deepEqual(read(readMessages, messages, size), read(readMessages, messages))
})

const failures: readonly (readonly [name: string, AnswerReader, unknown, status: number])[] = [
  ['Messages', readMessages, { type: 'error', error: { type: 'overloaded_error', message: 'busy' } }, 529],
  ['Chat Completions', readChat, { error: { type: 'rate_limit_error', message: 'busy', code: null } }, 429],
  ['Responses', readResponses, { type: 'response.failed', response: { error: { code: 'x', message: 'busy' } } }, 502],
]
for (const [name, reader, event, status] of failures) {
  test(`an error event of ${name} keeps what arrived before it, and is not a complete answer`, () => {
    const answer = reader(
      { ...emptyAnswer, blocks: [{ kind: 'text', text: 'a' }] },
      {
        event: undefined,
        data: event as Record<string, unknown>,
        isEnd: false,
      },
    )
    assert.deepEqual([answer.error?.message, answer.error?.status], ['busy', status])
    assert.deepEqual([answer.blocks.length, answer.isComplete], [1, false])
  })
}

test('a conversation continues from an answer with a result for each of its calls', () => {
  const answer = read(readMessages, messages)
  const turns = turnsAfter([{ id: '1', role: 'user', content: [{ type: 'text', text: 'hi' }] }], answer)
  assert.deepEqual(
    turns.map(({ role, content }) => ({ role, content })),
    [
      { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      { role: 'assistant', content: contentOf(answer) },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: '' }] },
    ],
  )
})

test('thinking without a signature is not sent again', () => {
  assert.deepEqual(
    contentOf(read(readChat, chat)).map(({ type }) => type),
    ['text', 'tool_use'],
  )
})

test('a call whose input did not arrive completely is not sent again', () => {
  const answer: Answer = { ...emptyAnswer, blocks: [{ kind: 'tool', id: 't', name: 'look', input: '{"a":' }] }
  assert.deepEqual(contentOf(answer), [])
})
