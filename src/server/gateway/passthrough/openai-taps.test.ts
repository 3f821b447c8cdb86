import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createChatTap } from './chat-tap.ts'
import type { UsageTap } from './passthrough-format.ts'
import { createResponsesTap } from './responses-tap.ts'
import { createUsageTap } from './usage-tap.ts'

const data = (fields: object) => `data: ${JSON.stringify(fields)}\n\n`
const said = (delta: object, reason: string | null = null) =>
  data({ choices: [{ index: 0, delta, finish_reason: reason }] })
const chat = [
  ': a comment\n\n',
  said({ role: 'assistant', content: '' }),
  said({ content: 'é😀 "usage":{"completion_tokens":5},"finish_reason":"length" [DONE]' }),
  said({ tool_calls: [{ index: 1, function: { arguments: '{"error":{"message":"x"}}' } }] }),
  said({}, 'tool_calls'),
  data({ choices: [], usage: { prompt_tokens: 9, completion_tokens: 4 } }),
  'data: [DONE]\n\n',
].join('')

const event = (type: string, fields: object = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
const usage = { input_tokens: 9, output_tokens: 4, input_tokens_details: { cached_tokens: 0 } }
const responses = [
  event('response.created', { response: { usage: null } }),
  event('response.output_text.delta', { delta: 'says event: response.failed\n\n é' }),
  event('response.completed', { response: { status: 'completed', output: ['x'.repeat(2_000)], usage } }),
].join('')

const read = (tap: UsageTap, chunks: readonly Buffer[]) => {
  for (const chunk of chunks) tap.push(chunk)
  const { input_tokens: input, output_tokens: output, estimated } = tap.usage
  return {
    input,
    output,
    estimated,
    stopReason: tap.stopReason,
    isUnderWay: tap.isUnderWay,
    end: tap.end,
    fault: tap.fault,
  }
}

const counted = { input: 9, output: 4, estimated: false, isUnderWay: true, end: 'stop', fault: undefined }
const formats = [
  ['Chat', createChatTap, chat, { ...counted, stopReason: 'tool_calls' }],
  ['Responses', createResponsesTap, responses, { ...counted, stopReason: 'completed' }],
] as const

for (const [name, createTap, body, expected] of formats) {
  test(`${name}: the counts are the same for any split and any kind of line end`, () => {
    fc.assert(
      fc.property(
        fc.constantFrom('\n', '\r\n', '\r'),
        fc.array(fc.nat(body.length), { maxLength: 60 }),
        (lineEnd, places) => {
          const bytes = Buffer.from(body.replaceAll('\n', lineEnd))
          const cuts = [0, ...places.sort((a, b) => a - b), bytes.length]
          const chunks = cuts.slice(1).map((end, at) => bytes.subarray(cuts[at], end))
          assert.deepEqual(read(createTap(), chunks), expected)
        },
      ),
      { numRuns: 300 },
    )
  })
}

test('a tap never throws', () => {
  const odd = fc.constantFrom(
    'data: ',
    'event: error\n',
    '{"choices":5}',
    '{"error":{}}',
    'null',
    '[DONE]',
    '"usage":',
    '\n\n',
    '\r\r',
    chat,
    responses,
  )
  fc.assert(
    fc.property(fc.array(fc.oneof(odd, fc.string()), { maxLength: 30 }), parts => {
      for (const create of [createChatTap, createResponsesTap, createUsageTap]) {
        const tap = create()
        read(
          tap,
          parts.map(part => Buffer.from(part)),
        )
        tap.finish()
      }
    }),
  )
})

const openings = [
  [
    'Chat',
    createChatTap,
    said({ role: 'assistant', content: '' }) +
      data({ choices: [], prompt_filter_results: [] }) +
      said({ role: 'assistant', content: null, refusal: null }),
  ],
  [
    'Responses',
    createResponsesTap,
    event('response.created') + event('response.queued') + event('response.in_progress'),
  ],
] as const

for (const [name, createTap, body] of openings) {
  test(`E4: ${name}: opening events do not start the answer`, () => {
    assert.equal(read(createTap(), [Buffer.from(body)]).isUnderWay, false)
  })
}

const starts = [
  ['text', { content: 'a' }],
  ['reasoning', { reasoning_content: 'a' }],
  ['a call', { tool_calls: [{ index: 0 }] }],
  ['a refusal', { refusal: 'no' }],
] as const

for (const [what, delta] of starts) {
  test(`Chat: ${what} is content`, () =>
    assert.equal(read(createChatTap(), [Buffer.from(said(delta))]).isUnderWay, true))
}

test('the message of an error is found in every known place', () => {
  const faultOf = (create: () => UsageTap, body: string) => read(create(), [Buffer.from(body)]).fault
  const fault = { message: 'no', word: 'server_error' }
  assert.deepEqual(faultOf(createChatTap, data({ error: { message: 'no', code: 'server_error' } })), fault)
  assert.equal(faultOf(createChatTap, data({ error: 'no' }))?.message, 'no')
  assert.deepEqual(faultOf(createResponsesTap, event('error', { message: 'no', code: 'server_error' })), fault)
  assert.deepEqual(
    faultOf(createResponsesTap, event('error', { error: { message: 'no', code: 'server_error' } })),
    fault,
  )
  assert.deepEqual(faultOf(createUsageTap, event('error', { error: { message: 'no', type: 'server_error' } })), fault)
})

test('U8: an interrupted stream counts the sent bytes as an estimate', () => {
  const deltas = Array.from({ length: 50 }, () => said({ content: 'twelve chars' })).join('')
  const { output, estimated } = read(createChatTap(), [Buffer.from(said({ role: 'assistant', content: '' }) + deltas)])
  assert.ok(estimated && output > 100 && output < 250, `${output} tokens for 600 characters`)
  const events = Array.from({ length: 50 }, () => event('response.output_text.delta', { delta: 'twelve chars' })).join(
    '',
  )
  assert.equal(read(createResponsesTap(), [Buffer.from(events)]).output, 150)
})
