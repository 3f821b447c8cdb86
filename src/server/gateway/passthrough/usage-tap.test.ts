import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createUsageTap } from './usage-tap.ts'

const frame = (type: string, fields: object = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`

const start = frame('message_start', {
  message: {
    usage: {
      input_tokens: 7,
      cache_read_input_tokens: 100,
      cache_creation_input_tokens: 30,
      cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 20 },
      output_tokens: 1,
    },
  },
})
const delta = (text: string) => frame('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })
const lastUsage = {
  output_tokens: 12,
  input_tokens: 9,
  output_tokens_details: { thinking_tokens: 5 },
  server_tool_use: { web_search_requests: 2 },
}
const ending = [
  frame('message_delta', { delta: { stop_reason: 'pause_turn' }, usage: { output_tokens: 11 } }),
  frame('message_delta', { delta: { stop_reason: 'tool_use' }, usage: lastUsage }),
  frame('message_stop'),
].join('')
const whole = `${start}: a comment\n\n${frame('ping')}${delta('event: message_delta\n\nerror')}${delta('é😀')}${ending}`

const read = (chunks: readonly Buffer[]) => {
  const tap = createUsageTap()
  for (const chunk of chunks) tap.push(chunk)
  const { usage, stopReason, takesPings, hasContent, end } = tap
  return { usage, stopReason, takesPings, hasContent, end }
}

const expected = {
  usage: {
    input_tokens: 9,
    cache_read_tokens: 100,
    cache_write_5m_tokens: 10,
    cache_write_1h_tokens: 20,
    output_tokens: 12,
    reasoning_tokens: 5,
    web_searches: 2,
    file_searches: 0,
    code_containers: 0,
    estimated: false,
  },
  stopReason: 'tool_use',
  takesPings: true,
  hasContent: true,
  end: 'stop',
}

test('U4: zeros for the input at the end of a stream replace no counts', () => {
  const zeros = { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens: 12 }
  const frames = `${start}${delta('a')}${frame('message_delta', { delta: { stop_reason: 'end_turn' }, usage: zeros })}`
  const { input_tokens, cache_read_tokens, cache_write_5m_tokens, output_tokens } = read([Buffer.from(frames)]).usage
  assert.deepEqual([input_tokens, cache_read_tokens, cache_write_5m_tokens, output_tokens], [7, 100, 10, 12])
})

test('U4, U5: counts are running totals, and cache writes are split by lifetime', () => {
  assert.deepEqual(read([Buffer.from(whole)]), expected)
})

test('the counts are the same for any split and either kind of line end', () => {
  const windows = Buffer.from(whole.replaceAll('\n', '\r\n'))
  const plain = Buffer.from(whole)
  fc.assert(
    fc.property(fc.boolean(), fc.array(fc.nat(plain.length), { maxLength: 60 }), (isWindows, places) => {
      const bytes = isWindows ? windows : plain
      const cuts = [0, ...places.sort((a, b) => a - b), bytes.length]
      const chunks = cuts.slice(1).map((end, at) => bytes.subarray(cuts[at], end))
      assert.deepEqual(read(chunks), expected)
    }),
    { numRuns: 300 },
  )
})

test('the tap never throws', () => {
  const odd = fc.constantFrom(
    'event: message_start\n',
    'data: ',
    '{"message":5}',
    'null',
    '\n\n',
    '\r\n\r\n',
    '{"usage":[]',
    start,
  )
  fc.assert(
    fc.property(fc.array(fc.oneof(odd, fc.string()), { maxLength: 30 }), parts => {
      read(parts.map(part => Buffer.from(part)))
    }),
  )
})

test('U8: an interrupted stream counts the sent bytes as an estimate', () => {
  const { usage, end } = read([
    Buffer.from(start),
    ...Array.from({ length: 50 }, () => Buffer.from(delta('twelve chars'))),
  ])
  assert.equal(end, undefined)
  assert.equal(usage.estimated, true)
  assert.equal(usage.input_tokens, 7)
  assert.ok(usage.output_tokens > 100 && usage.output_tokens < 250, `${usage.output_tokens} tokens for 600 characters`)
})

test('a frame of any length uses bounded memory, and the next frame is read', () => {
  const tap = createUsageTap()
  tap.push(Buffer.from(`${start}event: content_block_delta\ndata: "`))
  for (let at = 0; at < 1000; at++) tap.push(Buffer.alloc(10_000, 'x'))
  tap.push(Buffer.from(`"\n\n${ending}`))
  assert.equal(tap.stopReason, 'tool_use')
})
