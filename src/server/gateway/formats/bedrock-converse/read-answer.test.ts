import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordOf } from '../../../platform/json.ts'
import { callStart, contextFor, decoded, delta, ending, frame, gptOss, read, stop } from './fixtures.ts'

const start = frame('messageStart', { role: 'assistant' })
const say = (index: number, text: string) => delta(index, { text })

test('T1: a stream that begins with a tool call has one message_start, as the first event', () => {
  const events = decoded([start, start, callStart(0, 'tooluse_1', 'ls'), stop(0), ...ending('tool_use')])
  assert.equal(events[0]?.type, 'message_start')
  assert.equal(events.filter(({ type }) => type === 'message_start').length, 1)
})

test('T2: a duplicate contentBlockStop is ignored, and a block without one is closed', () => {
  const frames = [start, say(0, 'a'), stop(0), stop(0), say(1, 'b'), callStart(2, 't1', 'f'), ...ending('tool_use')]
  const types = read(decoded(frames)).content.map(({ type }) => type)
  assert.deepEqual(types, ['text', 'text', 'tool_use'])
})

test('T3, T9: text and calls contain all of their deltas', () => {
  const parts = Array.from({ length: 5_000 }, (_, at) => JSON.stringify(`${at}`.padStart(60, 'x')))
  const frames = [
    start,
    say(0, 'Looking'),
    say(0, ' it up'),
    stop(0),
    callStart(1, 'tooluse_1', 'search'),
    ...[`{"words":[`, ...parts.map((part, at) => (at === 0 ? part : `,${part}`)), ']}'].map(input =>
      delta(1, { toolUse: { input } }),
    ),
    stop(1),
    ...ending('tool_use'),
  ]
  const { content, stopReason } = read(decoded(frames))
  assert.deepEqual(content[0], { type: 'text', text: 'Looking it up' })
  const { words } = recordOf(content[1]?.['input'])
  assert.equal(Array.isArray(words) && words.length, 5_000)
  assert.equal(stopReason, 'tool_use')
})

test('T6: a contentBlockStop without text adds no block', () => {
  const frames = [start, say(0, ''), stop(0), callStart(1, 't1', 'f'), delta(1, { toolUse: { input: '' } }), stop(1)]
  const { content } = read(decoded([...frames, ...ending('tool_use')]))
  assert.deepEqual(content, [{ type: 'tool_use', id: 't1', name: 'f', input: {} }])
})

test('T8: a call without arguments has an empty input', () => {
  const { content } = read(decoded([start, callStart(0, 't1', 'now'), stop(0), ...ending('tool_use')]))
  assert.deepEqual(content[0]?.['input'], {})
})

test('T11: an empty answer has message_start, message_delta and message_stop', () => {
  const { content, stopReason, sse } = read(decoded([start, ...ending('end_turn')]))
  assert.deepEqual({ content, stopReason }, { content: [], stopReason: 'end_turn' })
  assert.match(sse ?? '', /message_start.*message_delta.*message_stop/s)
})

test('T13: ids that clients reject are replaced, deterministically and uniquely in an answer', () => {
  const frames = [start, callStart(0, 'functions.ls:0', 'ls'), stop(0), callStart(1, 'functions.ls:0', 'ls'), stop(1)]
  const ids = () => read(decoded([...frames, ...ending('tool_use')])).content.map(({ id }) => String(id))
  const [first = '', second = ''] = ids()
  assert.match(`${first}${second}`, /^[a-zA-Z0-9_-]+$/)
  assert.notEqual(first, second)
  assert.deepEqual(ids(), [first, second])
})

const reasons = [
  ['end_turn', 'end_turn', []],
  ['tool_use', 'tool_use', []],
  ['max_tokens', 'max_tokens', []],
  ['stop_sequence', 'stop_sequence', []],
  ['guardrail_intervened', 'refusal', []],
  ['content_filtered', 'refusal', []],
  ['model_context_window_exceeded', 'max_tokens', ['stop_reason=max_tokens']],
  ['something_new', 'end_turn', ['stop_reason=end_turn']],
] as const

for (const [said, expected, degraded] of reasons) {
  test(`S2: ${said} is reported as ${expected}`, () => {
    const call = said === 'tool_use' ? [callStart(0, 't1', 'f'), stop(0)] : [say(0, 'x'), stop(0)]
    const found = read(decoded([start, ...call, ...ending(said)]))
    assert.deepEqual([found.stopReason, found.degraded], [expected, degraded])
  })
}

test('S1: an answer with a tool call stops with tool_use, even if the upstream reports end_turn', () => {
  assert.equal(read(decoded([start, callStart(0, 't', 'f'), stop(0), ...ending('end_turn')])).stopReason, 'tool_use')
})

test('S2: the matched stop sequence is reported', () => {
  for (const fields of [{ stop_sequence: 'END' }, { delta: { stop_sequence: 'END' } }]) {
    const last = frame('messageStop', { stopReason: 'stop_sequence', additionalModelResponseFields: fields })
    assert.equal(read(decoded([start, say(0, 'x'), stop(0), last])).stopSequence, 'END')
  }
})

test('S4: a stream without messageStop has no message_stop, and a malformed answer is an error', () => {
  const broken = decoded([start, say(0, 'x'), stop(0)])
  assert.ok(!broken.some(({ type }) => type === 'message_stop' || type === 'stop'))
  for (const reason of ['malformed_tool_use', 'malformed_model_output']) {
    const events = decoded([start, say(0, 'x'), ...ending(reason)])
    assert.equal(events.at(-1)?.type, 'error')
    assert.ok(!events.some(({ type }) => type === 'message_stop'))
  }
})

test('S4: an answer without metadata is complete when the connection ends', () => {
  assert.equal(
    read(decoded([start, say(0, 'x'), frame('messageStop', { stopReason: 'end_turn' })])).stopReason,
    'end_turn',
  )
})

test('U1, U3: usage after messageStop is in message_delta, with separate cached tokens', () => {
  const usage = {
    inputTokens: 4,
    outputTokens: 9,
    totalTokens: 1213,
    cacheReadInputTokens: 1000,
    cacheWriteInputTokens: 200,
  }
  const found = read(decoded([start, say(0, 'x'), stop(0), ...ending('end_turn', usage)])).usage
  assert.equal(found['input_tokens'], 4)
  assert.equal(found['cache_read_input_tokens'], 1000)
  assert.equal(found['cache_creation_input_tokens'], 200)
  assert.equal(found['output_tokens'], 9)
})

test('U5: 1-hour cache writes are separate from 5-minute ones', () => {
  for (const hour of ['1h', 'T1H']) {
    const details = [
      { ttl: hour, inputTokens: 150 },
      { ttl: '5m', inputTokens: 50 },
    ]
    const usage = { inputTokens: 4, outputTokens: 9, cacheWriteInputTokens: 200, cacheDetails: details }
    assert.deepEqual(read(decoded([start, ...ending('end_turn', usage)])).usage['cache_creation'], {
      ephemeral_5m_input_tokens: 50,
      ephemeral_1h_input_tokens: 150,
    })
  }
})

for (const usage of [{ inputTokens: -5, outputTokens: 1e300 }, { inputTokens: 'x' }, { inputTokens: 1.5 }, {}]) {
  test(`F17: the usage ${JSON.stringify(usage)} changes no count`, () => {
    const events = decoded([start, frame('messageStop', { stopReason: 'end_turn' }), frame('metadata', { usage })])
    assert.deepEqual(
      events.find(({ type }) => type === 'usage'),
      { type: 'usage', usage: {} },
    )
  })
}

const think = (part: object) => delta(0, { reasoningContent: part })

test("K1, K2: Claude's thinking keeps its signature, joined from its deltas", () => {
  const frames = [
    start,
    think({ text: 'Hm' }),
    think({ text: 'm' }),
    think({ signature: 'AB' }),
    think({ signature: 'C=' }),
  ]
  const { content } = read(decoded([...frames, stop(0), say(1, 'x'), stop(1), ...ending('end_turn')]))
  assert.deepEqual(content[0], { type: 'thinking', thinking: 'Hmm', signature: 'ABC=' })
})

test('K2, K3: thinking with only a signature is kept', () => {
  const { content } = read(decoded([start, think({ signature: 'Sig=' }), stop(0), ...ending('end_turn')]))
  assert.deepEqual(content, [{ type: 'thinking', thinking: '', signature: 'Sig=' }])
})

test("K1: Claude's redacted thinking is unchanged", () => {
  const frames = [start, think({ redactedContent: 'cnNuX3A=' }), stop(0), say(1, 'x'), stop(1), ...ending('end_turn')]
  assert.deepEqual(read(decoded(frames)).content[0], { type: 'redacted_thinking', data: 'cnNuX3A=' })
})

test("K4: another model's reasoning is signed, with its text and redacted state", () => {
  const context = contextFor(gptOss)
  const shown = read(decoded([start, think({ text: 'Hmm' }), stop(0), ...ending('end_turn')], context)).content[0]
  assert.equal(shown?.['thinking'], 'Hmm')
  assert.equal(context.reasoning.stateOf(String(shown?.['signature'])), '{}')
  const hidden = read(decoded([start, think({ redactedContent: 'c3RhdGU=' }), stop(0), ...ending('end_turn')], context))
  assert.equal(hidden.content[0]?.['type'], 'thinking')
  assert.equal(context.reasoning.stateOf(String(hidden.content[0]?.['signature'])), '{"redacted":"c3RhdGU="}')
})

const exceptions = [
  ['throttlingException', 'rate_limited'],
  ['serviceUnavailableException', 'overloaded'],
  ['modelTimeoutException', 'upstream_timeout'],
  ['validationException', 'invalid_request'],
  ['internalServerException', 'upstream_unreachable'],
  ['modelStreamErrorException', 'upstream_unreachable'],
  ['InternalFailure', 'upstream_unreachable'],
] as const

for (const [name, code] of exceptions) {
  test(`E5: ${name} in a stream is one error with its message, and ends the stream`, () => {
    const events = decoded([
      start,
      say(0, 'x'),
      frame(name, { message: 'Try again' }),
      say(0, 'y'),
      ...ending('end_turn'),
    ])
    assert.deepEqual(events.at(-1), { type: 'error', code, message: 'Try again' })
  })
}

test('F17: invalid data becomes one error and never throws', () => {
  for (const data of ['', '{', 'null', '[]', '"x"', '<html>']) {
    const events = decoded([start, { event: 'contentBlockDelta', data }])
    assert.deepEqual(
      events.map(({ type }) => type),
      ['message_start', 'error'],
    )
  }
  for (const payload of [{}, { delta: 5 }, { contentBlockIndex: 'x', delta: { text: 5 } }, { start: [] }]) {
    const frames = ['contentBlockDelta', 'contentBlockStart', 'contentBlockStop', 'unknown'].map(name =>
      frame(name, payload),
    )
    assert.doesNotThrow(() => read(decoded([start, ...frames, ...ending('end_turn')])))
  }
})

test('content without an equivalent is recorded once', () => {
  const cited = delta(0, { citation: { title: 'Doc', location: {} } })
  const found = read(decoded([start, say(0, 'x'), cited, cited, stop(0), ...ending('end_turn')]))
  assert.deepEqual(found.degraded, ['answer.citation=dropped'])
})
