import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../../../platform/json.ts'
import type { UpstreamFrame } from '../../core/codec.ts'
import { openaiChat } from './codec.ts'
import { callChunk, chunk, contextOf, decoded, done, frame, read } from './fixtures.ts'
import { generatedCallId } from './tool-calls.ts'

const answer = (...frames: readonly UpstreamFrame[]) => read(decoded(frames))
const stop = chunk({}, 'stop')
const stopForTools = chunk({}, 'tool_calls')
const text = (said: string) => ({ type: 'text', text: said })
/** A thinking block, signed for a field that servers accept in requests. */
const thinking = (said: string, field?: string) => ({
  type: 'thinking',
  thinking: said,
  signature: field === undefined ? '' : `sealed:${field}`,
})
const call = (id: string, name: string, input: unknown) => ({ type: 'tool_use', id, name, input })

const contents: readonly (readonly [string, readonly UpstreamFrame[], readonly Json[]])[] = [
  ['text deltas are one text block', [chunk({ content: 'He' }), chunk({ content: 'llo' }), stop], [text('Hello')]],
  [
    'T3: text and a tool call in one chunk: the arguments in that chunk are kept',
    [
      chunk({
        content: 'Look:',
        tool_calls: [{ index: 0, id: 'call_1', function: { name: 'ls', arguments: '{"a":' } }],
      }),
      callChunk(0, { args: '1}' }),
      stopForTools,
    ],
    [text('Look:'), call('call_1', 'ls', { a: 1 })],
  ],
  [
    'T4: a call whose name and arguments come in one chunk keeps its arguments',
    [callChunk(0, { id: 'call_1', name: 'ls', args: '{"a":[1]}' }), stopForTools],
    [call('call_1', 'ls', { a: [1] })],
  ],
  [
    'T5: an empty list of tool calls beside content is plain text',
    [chunk({ content: 'a', tool_calls: [] }), chunk({ content: 'b', tool_calls: [] }), stop],
    [text('ab')],
  ],
  [
    'T6: a stream that begins with a tool call has no empty text before it',
    [chunk({ role: 'assistant', content: '' }), callChunk(0, { id: 'call_1', name: 'ls', args: '{}' }), stopForTools],
    [call('call_1', 'ls', {})],
  ],
  [
    'T7: reasoning_content becomes thinking',
    [chunk({ reasoning_content: 'Hm' }), chunk({ reasoning_content: 'm' }), chunk({ content: 'Hi' }), stop],
    [thinking('Hmm', 'reasoning_content'), text('Hi')],
  ],
  [
    'T7: reasoning becomes thinking',
    [chunk({ reasoning: 'Hm', content: '' }), chunk({ content: 'Hi' }), stop],
    [thinking('Hm', 'reasoning'), text('Hi')],
  ],
  [
    'T7: reasoning in several fields of one chunk is used once',
    [
      chunk({ reasoning: 'Hm', reasoning_details: [{ type: 'reasoning.text', text: 'Hm' }] }),
      chunk({
        reasoning_details: [
          { type: 'reasoning.summary', summary: 'So' },
          { type: 'reasoning.encrypted', data: 'x' },
        ],
      }),
      chunk({ content: 'Hi' }),
      stop,
    ],
    [thinking('HmSo', 'reasoning'), text('Hi')],
  ],
  [
    'T7: thinking in a list of content parts becomes thinking',
    [
      chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] }] }),
      chunk({ content: [{ type: 'text', text: 'Hi' }] }),
      stop,
    ],
    [thinking('Hm'), text('Hi')],
  ],
  [
    'T8: a call without arguments has an empty input',
    [callChunk(0, { id: 'c', name: 'now' }), stopForTools],
    [call('c', 'now', {})],
  ],
  [
    'T8: null arguments count as no arguments',
    [callChunk(0, { id: 'c', name: 'now', args: 'null' }), stopForTools],
    [call('c', 'now', {})],
  ],
  ['T11: an empty answer is an empty message', [chunk({ role: 'assistant', content: '' }), stop], []],
  [
    'late and repeated id and name belong to one call',
    [
      callChunk(0, { args: '{"a"' }),
      callChunk(0, { name: 'ls', args: ':' }),
      callChunk(0, { id: 'call_1', name: 'ls', args: '1' }),
      callChunk(0, { id: 'call_1', name: 'ls', args: '}' }),
      stopForTools,
    ],
    [call('call_1', 'ls', { a: 1 })],
  ],
  [
    'a new id in each part of a call does not split it',
    [
      callChunk(0, { id: 'r1', name: 'ls', args: '' }),
      callChunk(0, { id: 'r2', args: '{"a":' }),
      callChunk(0, { id: 'r3', args: '1}' }),
      stopForTools,
    ],
    [call('r1', 'ls', { a: 1 })],
  ],
  [
    'complete calls that all have index 0 stay separate',
    [
      callChunk(0, { id: 'a', name: 'ls', args: '{"p":1}' }),
      callChunk(0, { id: 'b', name: 'ls', args: '{"p":2}' }),
      stopForTools,
    ],
    [call('a', 'ls', { p: 1 }), call('b', 'ls', { p: 2 })],
  ],
  [
    'calls without an index are distinguished by their ids',
    [
      callChunk(undefined, { id: 'a', name: 'ls', args: '{"p":' }),
      callChunk(undefined, { args: '1}' }),
      callChunk(undefined, { id: 'b', name: 'ls', args: '{"p":2}' }),
      stopForTools,
    ],
    [call('a', 'ls', { p: 1 }), call('b', 'ls', { p: 2 })],
  ],
  [
    'arguments sent as an object are kept',
    [chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'ls', arguments: { p: 1 } } }] }), stopForTools],
    [call('a', 'ls', { p: 1 })],
  ],
  [
    'the older function_call becomes a call',
    [
      chunk({ function_call: { name: 'ls' } }),
      chunk({ function_call: { arguments: '{"p":1}' } }),
      chunk({}, 'function_call'),
    ],
    [call(generatedCallId('req_1', 0), 'ls', { p: 1 })],
  ],
  [
    'interleaved calls keep their own arguments, in the order of their starts',
    [
      callChunk(0, { id: 'a', name: 'x', args: '{"p":"}' }),
      callChunk(1, { id: 'b', name: 'y', args: '{"q"' }),
      callChunk(0, { args: '\\""}' }),
      callChunk(1, { args: ':2}' }),
      stopForTools,
    ],
    [call('a', 'x', { p: '}"' }), call('b', 'y', { q: 2 })],
  ],
  [
    'text between and after calls is kept',
    [
      chunk({ content: 'one' }),
      callChunk(0, { id: 'a', name: 'x', args: '{}' }),
      chunk({ content: 'two' }),
      callChunk(1, { id: 'b', name: 'y', args: '{}' }),
      chunk({ content: 'three' }),
      stopForTools,
    ],
    [text('one'), call('a', 'x', {}), text('two'), call('b', 'y', {}), text('three')],
  ],
  [
    'only the first of several choices is read',
    [
      frame({
        choices: [
          { index: 1, delta: { content: 'no' } },
          { index: 0, delta: { content: 'yes' } },
        ],
      }),
      frame({ choices: [{ index: 1, delta: { content: 'no' }, finish_reason: 'length' }] }),
      stop,
    ],
    [text('yes')],
  ],
]

for (const [guarantee, frames, content] of contents) {
  test(guarantee, () => {
    const { content: got, hasEnded, error } = answer(...frames, done)
    assert.deepEqual([got, hasEnded, error], [content, true, undefined])
  })
}

const stops: readonly (readonly [string, readonly UpstreamFrame[], string])[] = [
  [
    'S1: an answer with a tool call stops with tool_use, even if the upstream reports stop',
    [callChunk(0, { id: 'a', name: 'x', args: '{}' }), stop],
    'tool_use',
  ],
  ['S1: a stop for tools without any call is a plain end', [chunk({ content: 'a' }), stopForTools], 'end_turn'],
  ['S2: length is max_tokens', [chunk({ content: 'a' }), chunk({}, 'length')], 'max_tokens'],
  ['S2: content_filter is a refusal', [chunk({ content: 'a' }), chunk({}, 'content_filter')], 'refusal'],
  ['S2: a refusal text is a refusal', [chunk({ refusal: 'I can' }), chunk({ refusal: 'not' }), stop], 'refusal'],
  [
    'S2: a matched stop string gives stop_sequence',
    [chunk({ content: 'a' }), frame({ choices: [{ delta: {}, finish_reason: 'stop', stop_reason: '###' }] })],
    'stop_sequence',
  ],
  ['an unknown reason is a plain end', [chunk({ content: 'a' }), chunk({}, 'eos')], 'end_turn'],
]

for (const [guarantee, frames, reason] of stops) {
  test(guarantee, () => assert.equal(answer(...frames, done).stopReason, reason))
}

test('a refusal text is sent to the client', () => {
  assert.deepEqual(answer(chunk({ refusal: 'No.' }), stop).content, [text('No.')])
})

test('S2: the matched stop string is reported', () => {
  const events = decoded([frame({ choices: [{ delta: {}, finish_reason: 'stop', matched_stop: 'END' }] })])
  assert.deepEqual(events[0], { type: 'stop', reason: 'stop_sequence', sequence: 'END' })
})

const brokenStreams: readonly (readonly [string, readonly UpstreamFrame[]])[] = [
  ['without a finish reason', [chunk({ content: 'a' })]],
  ['with [DONE] but no finish reason', [chunk({ content: 'a' }), done]],
  ['in the middle of a call', [callChunk(0, { id: 'a', name: 'x', args: '{"p":' })]],
  ['at once', []],
]
for (const [how, frames] of brokenStreams) {
  test(`S4: a stream that ends ${how} has no end`, () => {
    const { hasEnded, stopReason } = answer(...frames)
    assert.deepEqual([hasEnded, stopReason], [false, undefined])
  })
}

const usage = { prompt_tokens: 100, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 60 } }
const counted = { input_tokens: 40, cache_read_tokens: 60, output_tokens: 20 }
const usagePlaces: readonly (readonly [string, readonly UpstreamFrame[]])[] = [
  ['behind the finish chunk', [chunk({ content: 'a' }), stop, frame({ choices: [], usage }), done]],
  ['behind the finish chunk, without [DONE]', [chunk({ content: 'a' }), stop, frame({ choices: [], usage })]],
  [
    'in one packet with it',
    [chunk({ content: 'a' }), frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage })],
  ],
  ['in the choice', [chunk({ content: 'a' }), frame({ choices: [{ delta: {}, finish_reason: 'stop', usage }] })]],
  [
    'in x_groq',
    [chunk({ content: 'a' }), frame({ x_groq: { usage }, choices: [{ delta: {}, finish_reason: 'stop' }] })],
  ],
]
for (const [place, frames] of usagePlaces) {
  test(`T12: usage ${place} is read`, () => {
    const { input_tokens, cache_read_tokens, output_tokens, estimated } = answer(...frames).usage
    assert.deepEqual({ input_tokens, cache_read_tokens, output_tokens }, counted)
    assert.equal(estimated, false)
  })
}

test('U4: counts are running totals: the last ones apply', () => {
  const half = frame({ choices: [], usage: { prompt_tokens: 100, completion_tokens: 10 } })
  assert.equal(answer(half, half, stop, frame({ choices: [], usage }), done).usage.output_tokens, 20)
})

test('the first chunk with an id or a model gives message_start', () => {
  const azure = frame({ id: '', model: '', choices: [], prompt_filter_results: [] })
  const [start] = decoded([azure, chunk({ content: 'a' })])
  assert.deepEqual(start, { type: 'message_start', id: 'chatcmpl-1', model: 'some-model-2026' })
})

const faults: readonly (readonly [string, UpstreamFrame, string, RegExp])[] = [
  [
    'an error object',
    frame({ error: { message: 'Server had an error', type: 'server_error' } }),
    'upstream_unreachable',
    /^Server had an error$/,
  ],
  ['an error with a status', frame({ error: { code: 502, message: 'Gone' } }), 'upstream_unreachable', /^Gone$/],
  [
    'a rate limit',
    frame({ error: { message: 'Slow down', type: 'rate_limit_exceeded' } }),
    'rate_limited',
    /^Slow down$/,
  ],
  ['an error as text', frame({ error: 'out of memory' }), 'upstream_unreachable', /^out of memory$/],
  ['an error of another shape', frame({ object: 'error', message: 'bad', code: 400 }), 'invalid_request', /^bad$/],
  ['an event named error', { event: 'error', data: 'it broke' }, 'upstream_unreachable', /^it broke$/],
  ['a finish reason that says so', chunk({}, 'error'), 'upstream_unreachable', /aborted the response/],
  ['F17: truncated JSON', { event: undefined, data: '{"choices":[{"del' }, 'upstream_unreachable', /not a JSON object/],
  ['F17: JSON that is not an object', { event: undefined, data: '[1]' }, 'upstream_unreachable', /not a JSON object/],
  [
    'a call that never gets a name',
    chunk({ tool_calls: [{ index: 0, id: 'a', function: { arguments: '{}' } }] }, 'stop'),
    'upstream_unreachable',
    /without a name/,
  ],
]
for (const [what, broken, code, message] of faults) {
  test(`E5: ${what} in a stream is one error and ends the stream`, () => {
    const events = decoded([chunk({ content: 'a' }), broken, chunk({ content: 'b' }), stop, done])
    const error = events.at(-1)
    assert.ok(error?.type === 'error' && error.code === code)
    assert.match(error.message, message)
    assert.equal(events.filter(event => event.type === 'error').length, 1)
  })
}

test('F17: chunks of an unknown shape are ignored', () => {
  const odd = [{}, { choices: null }, { choices: 5 }, { choices: [null] }, { choices: [{ delta: 'x' }] }, { usage: -1 }]
  const calls = [{ choices: [{ delta: { tool_calls: [null, 5, {}], content: 7 } }] }]
  assert.deepEqual(answer(...[...odd, ...calls].map(frame), chunk({ content: 'a' }), stop).content, [text('a')])
})

test('a complete call ends when the next one begins', () => {
  const decoder = openaiChat.decoder(contextOf())
  decoder.push(callChunk(0, { id: 'a', name: 'x', args: '{"p":1}' }))
  const events = decoder.push(callChunk(1, { id: 'b', name: 'y', args: '{' }))
  assert.deepEqual(
    events.map(event => event.type),
    ['block_start', 'block_delta', 'block_stop'],
  )
})

test('a call without an id starts with a generated one, at the latest after 1 KB', () => {
  const decoder = openaiChat.decoder(contextOf())
  decoder.push(callChunk(0, { name: 'write', args: `{"text":"${'x'.repeat(600)}` }))
  const events = decoder.push(callChunk(0, { args: 'x'.repeat(600) }))
  assert.deepEqual(
    events.map(event => event.type),
    ['block_start', 'block_delta'],
  )
})

test('T9: arguments of several hundred KB in thousands of deltas arrive complete', () => {
  const input = { content: 'äö"\\{'.repeat(60_000) }
  const json = JSON.stringify(input)
  const parts = Array.from({ length: Math.ceil(json.length / 97) }, (_, index) =>
    json.slice(index * 97, index * 97 + 97),
  )
  const frames = [callChunk(0, { id: 'a', name: 'write' }), ...parts.map(args => callChunk(0, { args })), stopForTools]
  assert.deepEqual(answer(...frames).content, [call('a', 'write', input)])
})

test('T13: call ids match the pattern, are unique and are sent back to the upstream unchanged', () => {
  const ids = ['call_1', 'functions.ls:0', 'functions.ls:1', '', '', 'call_1', 'x'.repeat(200), 'ä ö']
  const frames = ids.map((id, index) => callChunk(index, { id, name: 'ls', args: '{}' }))
  const got = answer(...frames, stopForTools).content.map(block => String(block['id']))
  assert.ok(got.every(id => /^[a-zA-Z0-9_-]{1,96}$/.test(id)))
  assert.equal(new Set(got).size, ids.length)
  const content = got.map(id => ({ type: 'tool_use', id, name: 'ls', input: {} }))
  const { body } = openaiChat.request({ messages: [{ role: 'assistant', content }] }, contextOf())
  const [message] = body['messages'] as [{ tool_calls: { id: string }[] }]
  const back = message.tool_calls.map(({ id }) => id)
  assert.deepEqual([back[0], back[1], back[2], back[7]], ['call_1', 'functions.ls:0', 'functions.ls:1', 'ä ö'])
  assert.deepEqual(decoded(frames), decoded(frames))
})

test('S50: 100,000 calls are read in linear time, also those that only their ids distinguish', () => {
  const calls = (indexOf: (at: number) => number | undefined) =>
    Array.from({ length: 100_000 }, (_, at) => callChunk(indexOf(at), { id: `call_${at}`, name: 'ls', args: '{}' }))
  for (const indexOf of [(at: number) => at, () => undefined]) {
    const starts = decoded([...calls(indexOf), stopForTools]).filter(({ type }) => type === 'block_start')
    assert.equal(starts.length, 100_000)
  }
})

test('S50: a chunk may contain any number of annotations and log probabilities', () => {
  const annotations = Array.from({ length: 300_000 }, () => ({ type: 'url_citation' }))
  const content = Array.from({ length: 300_000 }, () => ({ token: 'a', logprob: 0 }))
  const delta = frame({ choices: [{ index: 0, delta: { content: 'a', annotations }, logprobs: { content } }] })
  const events = decoded([delta, stop])
  assert.equal(events.find(event => event.type === 'block_delta')?.logprobs?.length, 300_000)
})

test('images of an answer are dropped and reported once', () => {
  const images = [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }]
  const events = decoded([chunk({ content: 'Here:' }), chunk({ images }), chunk({ images }), stop])
  assert.deepEqual(
    events.filter(({ type }) => type === 'degraded'),
    [{ type: 'degraded', path: 'choices.0.message.images', action: 'dropped' }],
  )
})
