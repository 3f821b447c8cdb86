import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readStream } from '../../../../../test/support/sessions/event-grammar.ts'
import type { Json } from '../../../platform/json.ts'
import type { UpstreamEvent } from '../../core/answer-event.ts'
import { openaiResponses } from './codec.ts'
import {
  contextOf,
  decoded,
  frame,
  framesOf,
  itemOf,
  read as readEvents,
  responseOf,
  type ScriptedItem,
  streamOf,
} from './fixtures.ts'

/** Returns what a client reads. A stream that violates the grammar fails the test. */
function read(events: readonly UpstreamEvent[]) {
  const reading = readEvents(events)
  if (reading.sse !== undefined) readStream(reading.sse)
  return reading
}

const text = (...pieces: readonly string[]): ScriptedItem => ({ kind: 'text', pieces })
const call = (id: string, ...pieces: readonly string[]): ScriptedItem => ({ kind: 'call', id, name: 'read', pieces })
const toolBlock = (id: string, input: unknown) => ({ type: 'tool_use', id, name: 'read', input })
const contentOf = (items: readonly ScriptedItem[]): readonly Json[] => read(decoded(streamOf(items))).content

/** Returns a stream without the events whose type matches. */
const without = (items: readonly ScriptedItem[], pattern: RegExp, changes: Json = {}) =>
  streamOf(items, changes).filter(({ event }) => !pattern.test(event ?? ''))

test('a complete stream gives id, model, thinking, text and call in order', () => {
  const items: readonly ScriptedItem[] = [
    { kind: 'reasoning', summaries: [['I ', 'think']], encrypted: 'gAAA' },
    text('Hel', 'lo'),
    call('call_1', '{"pa', 'th":"a"}'),
  ]
  const { message, content, stopReason, degraded } = read(decoded(streamOf(items)))
  assert.equal(message?.['id'], 'resp_1')
  assert.equal(message?.['model'], 'gpt-5.5-2026-04-23')
  assert.equal(stopReason, 'tool_use')
  assert.deepEqual(degraded, [])
  assert.deepEqual(content, [
    {
      type: 'thinking',
      thinking: 'I think',
      signature: `sealed:${JSON.stringify({ id: 'rs_0', summary: ['I think'], encrypted: 'gAAA' })}`,
    },
    { type: 'text', text: 'Hello' },
    toolBlock('call_1', { path: 'a' }),
  ])
})

test('K1: a reasoning item is sent back unchanged', () => {
  const scripted: ScriptedItem = { kind: 'reasoning', summaries: [['one'], ['two']], encrypted: 'gAAA' }
  const content = contentOf([scripted, text('a')])
  const messages = [
    { role: 'assistant', content },
    { role: 'user', content: 'b' },
  ]
  const { body } = openaiResponses.request({ max_tokens: 99, messages }, contextOf())
  assert.deepEqual((body['input'] as Json[])[0], itemOf(scripted, 0))
})

test('K3: reasoning without a summary becomes an empty thinking block with signature', () => {
  const [block] = contentOf([{ kind: 'reasoning', summaries: [], encrypted: 'gAAA' }, text('a')])
  assert.equal(block?.['thinking'], '')
  assert.match(String(block?.['signature']), /^sealed:.*gAAA/)
})

test('K2: several summaries are joined by an empty line, streamed or not', () => {
  const items: readonly ScriptedItem[] = [{ kind: 'reasoning', summaries: [['a', 'b'], [], ['c']], encrypted: 'x' }]
  for (const frames of [streamOf(items), without(items, /delta$/)]) {
    const [block] = read(decoded(frames)).content
    assert.equal(block?.['thinking'], 'ab\n\nc')
  }
})

test('K8: thinking of a truncated stream has no signature', () => {
  const frames = framesOf({ kind: 'reasoning', summaries: [['a']], encrypted: 'x' }, 0).slice(0, -1)
  assert.equal(
    decoded(frames).some(({ type }) => type === 'block_signature'),
    false,
  )
})

test('K3: reasoning with neither text nor state adds no block', () => {
  assert.deepEqual(contentOf([{ kind: 'reasoning', summaries: [] }, text('a')]), [{ type: 'text', text: 'a' }])
})

test('raw reasoning text becomes thinking, and is carried for servers without encryption', () => {
  const place = { output_index: 0, content_index: 0 }
  const item = { id: 'rs_0', type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'hmm' }] }
  const events = decoded([
    frame({ type: 'response.reasoning_text.delta', ...place, delta: 'hm' }),
    frame({ type: 'response.output_item.done', output_index: 0, item }),
    frame({ type: 'response.completed', response: responseOf([], { output: [item] }) }),
  ])
  const [block] = read(events).content
  assert.equal(block?.['thinking'], 'hmm')
  assert.match(String(block?.['signature']), /"content":\["hmm"\]/)
})

test('T10: argument deltas never restart the block', () => {
  const events = decoded(streamOf([call('call_1', ...'{"a":[1,2,3]}')]))
  assert.equal(events.filter(({ type }) => type === 'block_start').length, 1)
  assert.equal(events.filter(({ type }) => type === 'block_stop').length, 1)
})

test('T9: arguments of several hundred KB in thousands of deltas arrive complete', () => {
  const long = 'x'.repeat(400_000)
  const pieces = JSON.stringify({ long }).match(/.{1,100}/g) ?? []
  assert.deepEqual(contentOf([call('call_1', ...pieces)]), [toolBlock('call_1', { long })])
})

const silent = [
  ['arguments.done', /arguments\.delta$/],
  ['output_item.done', /arguments/],
  ['the completed response', /arguments|item\.done$/],
  ['the completed response alone', /arguments|item/],
] as const

for (const [place, pattern] of silent) {
  test(`T4: arguments that come only in ${place} are kept`, () => {
    const frames = without([call('call_1', '{"path":"a"}'), call('call_2', '{}')], pattern)
    const { content, stopReason } = read(decoded(frames))
    assert.deepEqual(content, [toolBlock('call_1', { path: 'a' }), toolBlock('call_2', {})])
    assert.equal(stopReason, 'tool_use')
  })
}

test('T2: a call repeated under another index is sent once', () => {
  const same = (frames: ReturnType<typeof streamOf>) =>
    frames.map(({ event, data }) => ({ event, data: data.replace(/"output_index":\d+/, '"output_index":0') }))
  assert.deepEqual(read(decoded(same(streamOf([call('call_1', '{}'), call('call_2', '{"a":1}')])))).content, [
    toolBlock('call_1', {}),
    toolBlock('call_2', { a: 1 }),
  ])
})

test('T2: item ids that change between events add no second block', () => {
  let count = 0
  const frames = streamOf([text('a', 'b'), call('call_1', '{"a"', ':1}')]).map(({ event, data }) => ({
    event,
    data: data.replaceAll(/"(fc|msg)_\d"/g, () => `"id_${count++}"`),
  }))
  assert.deepEqual(read(decoded(frames)).content, [{ type: 'text', text: 'ab' }, toolBlock('call_1', { a: 1 })])
})

test('final arguments that differ from those sent are ignored', () => {
  const frames = streamOf([call('call_1', '{"a":1}')]).map(({ event, data }) => ({
    event,
    data: event?.endsWith('.done') ? data.replace('{\\"a\\":1}', '{ \\"a\\": 1 }') : data,
  }))
  assert.deepEqual(read(decoded(frames)).content, [toolBlock('call_1', { a: 1 })])
})

test('calls with interleaved arguments stay separate', () => {
  const first = framesOf(call('call_1', '{"a":', '1}'), 0)
  const second = framesOf(call('call_2', '{"b":', '2}'), 1)
  const mixed = first.flatMap((one, index) => [one, ...second.slice(index, index + 1)])
  const end = frame({ type: 'response.completed', response: responseOf([]) })
  const { content } = read(decoded([...mixed, end]))
  assert.deepEqual(content, [toolBlock('call_1', { a: 1 }), toolBlock('call_2', { b: 2 })])
})

test('interleaved text and thinking are complete', () => {
  const first = framesOf(text('a', 'b'), 0)
  const second = framesOf({ kind: 'reasoning', summaries: [['c', 'd', 'e']], encrypted: 'x' }, 1)
  const mixed = first.flatMap((one, index) => [one, ...second.slice(index, index + 1)])
  const { content } = read(decoded([...mixed, ...second.slice(first.length), ...streamOf([]).slice(-1)]))
  const joined = (field: string) => content.map(block => String(block[field] ?? '')).join('')
  assert.deepEqual([joined('text'), joined('thinking')], ['ab', 'cde'])
  assert.match(joined('signature'), /^sealed:/)
})

test('T6, T11: an empty text adds no block, and an empty answer is valid', () => {
  assert.deepEqual(contentOf([text(), call('call_1', '{}')]), [toolBlock('call_1', {})])
  assert.equal(read(decoded(streamOf([]))).stopReason, 'end_turn')
})

test('T13: an id that clients reject is replaced, deterministically', () => {
  const [first, second] = [0, 1].map(() => contentOf([call('call.1:sig', '{}')])[0]?.['id'])
  assert.match(String(first), /^[a-zA-Z0-9_-]+$/)
  assert.equal(first, second)
})

const stops = [
  ['completed', {}, 'end_turn'],
  ['incomplete', { incomplete_details: { reason: 'max_output_tokens' } }, 'max_tokens'],
  ['incomplete', { incomplete_details: { reason: 'content_filter' } }, 'refusal'],
  ['incomplete', { incomplete_details: null }, 'max_tokens'],
] as const

for (const [status, changes, reason] of stops) {
  test(`S2: ${status} with ${JSON.stringify(changes)} is ${reason}`, () => {
    assert.equal(read(decoded(streamOf([text('a')], { status, ...changes }))).stopReason, reason)
  })
}

test('S2: a truncated call does not stop with tool_use', () => {
  const changes = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
  assert.equal(read(decoded(streamOf([call('call_1', '{}')], changes))).stopReason, 'max_tokens')
})

test('S2: a refusal is returned as text and as the stop reason', () => {
  for (const pattern of [/never/, /refusal/, /delta|content_part/]) {
    const { content, stopReason } = read(decoded(without([{ kind: 'refusal', pieces: ['No', '.'] }], pattern)))
    assert.deepEqual(content, [{ type: 'text', text: 'No.' }])
    assert.equal(stopReason, 'refusal')
  }
})

test('U3, U7: cached prompt tokens are subtracted, and reasoning is counted once', () => {
  const { usage: counts } = read(decoded(streamOf([text('a')])))
  const { input_tokens, cache_read_tokens, output_tokens, estimated } = counts
  assert.deepEqual([input_tokens, cache_read_tokens, output_tokens, estimated], [40, 60, 30, false])
})

const failures = [
  [
    'response.failed',
    { response: { error: { code: 'rate_limit_exceeded', message: 'slow' } } },
    'rate_limited',
    'slow',
  ],
  [
    'response.failed',
    { response: { error: { code: 'server_error', message: 'oops' } } },
    'upstream_unreachable',
    'oops',
  ],
  ['error', { code: 'context_length_exceeded', message: 'long' }, 'invalid_request', 'long'],
  [
    'error',
    { error: { type: 'invalid_request_error', code: 'context_length_exceeded', message: 'long' } },
    'invalid_request',
    'long',
  ],
  ['error', { error: { code: 'server_is_overloaded', message: 'busy' } }, 'overloaded', 'busy'],
  ['error', { code: null, message: '' }, 'upstream_unreachable', 'upstream reported an error without a message'],
] as const

for (const [type, body, code, message] of failures) {
  test(`E5: ${type} with ${JSON.stringify(body)} ends the stream with ${code}`, () => {
    const events = decoded([...framesOf(text('a'), 0), frame({ type, ...body }), ...streamOf([]).slice(-1)])
    assert.deepEqual(events.at(-1), { type: 'error', code, message })
    assert.equal(
      events.some(event => event.type === 'message_stop'),
      false,
    )
  })
}

test('U8: usage of a failed response is reported before its error', () => {
  const response = responseOf([], { status: 'failed', error: { code: 'server_error', message: 'x' } })
  const types = decoded([frame({ type: 'response.failed', response })]).map(({ type }) => type)
  assert.deepEqual(types, ['usage', 'error'])
})

const broken = ['{"type":"response.output_text.del', '[1]', 'null', '7', 'nonsense']

for (const data of broken) {
  test(`S4: the frame ${data} ends the stream with an error, not with message_stop`, () => {
    const events = decoded([...framesOf(text('a'), 0), { event: undefined, data }, ...streamOf([]).slice(-1)])
    assert.equal(events.at(-1)?.type, 'error')
  })
}

test('S4: a stream without its last event has no end', () => {
  assert.equal(
    decoded(streamOf([text('a')]).slice(0, -1)).some(({ type }) => type === 'message_stop'),
    false,
  )
})

test('T12: unknown events, keep-alives and events after the end are ignored', () => {
  const noise = [
    frame({ type: 'keepalive', sequence_number: 3 }),
    frame({ type: 'response.novel.delta', output_index: 0, delta: 'x' }),
    frame({ type: 'constructor' }),
    { event: undefined, data: '{}' },
    { event: undefined, data: '' },
    { event: undefined, data: '[DONE]' },
  ]
  const frames = streamOf([text('a')]).flatMap(one => [...noise, one])
  const { content } = read(decoded([...frames, ...noise, ...streamOf([text('b')])]))
  assert.deepEqual(content, [{ type: 'text', text: 'a' }])
})

test('M10: a native web search is recorded, and sources missing in the text follow it', () => {
  const annotations = [
    { type: 'url_citation', url: 'https://a.test', title: 'A', start_index: 0, end_index: 1 },
    { type: 'url_citation', url: 'https://b.test', title: 'B', start_index: 0, end_index: 1 },
    { type: 'url_citation', url: 'https://b.test', title: 'B', start_index: 2, end_index: 3 },
  ]
  const search = { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'q' } }
  const scripted: ScriptedItem = { kind: 'text', pieces: ['See https://a.test.'], annotations }
  const { content, degraded } = read(
    decoded([
      frame({ type: 'response.web_search_call.searching', output_index: 0, item_id: 'ws_1' }),
      frame({ type: 'response.output_item.done', output_index: 0, item: search }),
      ...framesOf(scripted, 1),
      ...streamOf([]).slice(-1),
    ]),
  )
  assert.deepEqual(content, [{ type: 'text', text: 'See https://a.test.\n\nSources:\n- B: https://b.test' }])
  assert.deepEqual(degraded, ['output.0=shown_as_text'])
})

test('sources are not appended to JSON, but recorded as dropped', () => {
  const annotations = [{ type: 'url_citation', url: 'https://a.test', title: 'A' }]
  const { content, degraded } = read(decoded(streamOf([{ kind: 'text', pieces: ['{"a":1}'], annotations }])))
  assert.deepEqual(content, [{ type: 'text', text: '{"a":1}' }])
  assert.deepEqual(degraded, ['output.0.content.0.annotations=dropped'])
})

const pieces = fc.array(fc.string({ unit: 'grapheme' }), { maxLength: 6 })
const anyItem: fc.Arbitrary<ScriptedItem> = fc.oneof(
  pieces.map((words): ScriptedItem => ({ kind: 'text', pieces: words })),
  fc
    .tuple(fc.dictionary(fc.string(), fc.jsonValue()), fc.integer({ min: 1, max: 9 }))
    .map(([input, size]): ScriptedItem => {
      const json = JSON.stringify(input)
      const cut = Array.from({ length: Math.ceil(json.length / size) }, (_, at) =>
        json.slice(at * size, (at + 1) * size),
      )
      return { kind: 'call', id: 'call_1', name: 'read', pieces: cut }
    }),
  fc
    .tuple(fc.array(pieces, { maxLength: 3 }), fc.string({ minLength: 1 }))
    .map(([summaries, encrypted]): ScriptedItem => ({ kind: 'reasoning', summaries, encrypted })),
)

test('a stream split in any way and without redundant events gives the message of the whole answer', () => {
  const omissions = fc.constantFrom(
    /never/,
    /arguments\.done|text\.done|part/,
    /delta$/,
    /item\.added$/,
    /item|delta|part|text|arguments/,
  )
  fc.assert(
    fc.property(fc.array(anyItem, { maxLength: 5 }), omissions, (items, pattern) => {
      const { sse: _whole, ...whole } = read(openaiResponses.answer(responseOf(items), contextOf()))
      const { sse: _streamed, ...streamed } = read(decoded(without(items, pattern)))
      assert.deepEqual(streamed, whole)
    }),
  )
})

test('a stream truncated at any place has a legal beginning and no end', () => {
  fc.assert(
    fc.property(fc.array(anyItem, { maxLength: 4 }), fc.nat(), (items, at) => {
      const frames = streamOf(items)
      const events = decoded(frames.slice(0, at % frames.length))
      read(events)
      assert.equal(
        events.some(({ type }) => type === 'message_stop'),
        false,
      )
    }),
  )
})

test('any order and subset of events is read without a throw or an illegal event', () => {
  fc.assert(
    fc.property(fc.array(anyItem, { maxLength: 3 }), fc.array(fc.nat(), { maxLength: 12 }), (items, picks) => {
      // Repeated pieces of JSON are invalid JSON, which is an upstream error and not an illegal event.
      const frames = without(items, /arguments/)
      read(decoded(picks.flatMap(pick => frames.slice(pick % frames.length, (pick % frames.length) + 1))))
    }),
  )
})

test('usage is reported once, from the last event', () => {
  const events = decoded(streamOf([text('a')]))
  assert.equal(events.filter(({ type }) => type === 'usage').length, 1)
})
