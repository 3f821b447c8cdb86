import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readStream } from '../../../../test/support/sessions/event-grammar.ts'
import { recordOf, recordsOf } from '../../platform/json.ts'
import { createAnthropicWriter } from '../formats/anthropic/write-answer.ts'
import { type OrderedEvent, Sequencer } from './sequencer.ts'

/** What the sequencer makes of `events`, as a client of Anthropic's reads it: streamed and whole. */
function encoded(events: readonly OrderedEvent[], repairs?: string[]) {
  const streamed = createAnthropicWriter({ stream: true, requestId: 'req_1' })
  const collected = createAnthropicWriter({ stream: false, requestId: 'req_1' })
  let body = ''
  const sequencer = new Sequencer({
    messageId: 'msg_1',
    model: 'upstream-model',
    guess: { tokens: () => 7, drop: () => undefined },
    out(event) {
      body += streamed.take(event)
      collected.take(event)
    },
    onRepair(what) {
      if (!repairs) throw new Error(what)
      repairs.push(what)
    },
  })
  for (const event of events) sequencer.push(event)
  const wire = [...body.matchAll(/^data: ([^\n]*)$/gm)].map(([, json]) => recordOf(JSON.parse(json ?? '')))
  const message = collected.whole()
  return { sequencer, wire, body, message, content: recordsOf(message?.['content']) }
}

const textBlock = { type: 'text' } as const
const toolBlock = { type: 'tool_use', id: 'call_1', name: 'bash' } as const
const start = (key: string, block: Extract<OrderedEvent, { type: 'block_start' }>['block']) =>
  ({ type: 'block_start', key, block }) as const
const delta = (key: string, text: string) => ({ type: 'block_delta', key, text }) as const
const stop = (key: string) => ({ type: 'block_stop', key }) as const
const end = { type: 'message_stop' } as const

test('T1: message_start comes first and once, also when the first block is a tool call', () => {
  const { wire } = encoded([start('a', toolBlock), delta('a', '{"x":1}'), end])
  assert.equal(wire[0]?.['type'], 'message_start')
  assert.equal(wire.filter(({ type }) => type === 'message_start').length, 1)
})

test('T6: a stream that opens with a tool call has no empty text block before it', () => {
  const { content } = encoded([start('a', toolBlock), delta('a', '{"x":1}'), stop('a'), end])
  assert.deepEqual(content, [{ ...toolBlock, input: { x: 1 } }])
})

test('T8: a call without arguments has input {} and valid JSON', () => {
  const { body, content } = encoded([start('a', toolBlock), stop('a'), end])
  assert.match(body, /"partial_json":"\{\}"/)
  assert.deepEqual(content, [{ ...toolBlock, input: {} }])
})

test('T11: an empty answer has start, delta and stop', () => {
  const { wire } = encoded([end])
  assert.deepEqual(
    wire.map(({ type }) => type),
    ['message_start', 'message_delta', 'message_stop'],
  )
})

test('S1: the stop reason after a tool call is tool_use even if the upstream reports a plain stop', () => {
  const { message } = encoded([start('a', toolBlock), { type: 'stop', reason: 'end_turn' }, end])
  assert.equal(message?.['stop_reason'], 'tool_use')
})

test('S2: a matched stop string is reported with its text', () => {
  const { message } = encoded([{ type: 'stop', reason: 'stop_sequence', sequence: 'END' }, end])
  assert.deepEqual([message?.['stop_reason'], message?.['stop_sequence']], ['stop_sequence', 'END'])
})

test('U1, U2: message_start has every usage field and input tokens above 0, also when the upstream states 0', () => {
  for (const usage of [undefined, { input_tokens: 0 }]) {
    const { wire } = encoded([{ type: 'message_start', ...(usage && { usage }) }, end])
    const [first] = wire
    assert.equal(first?.['type'], 'message_start')
    assert.deepEqual(recordOf(first['message'])['usage'], {
      input_tokens: 7,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
      output_tokens: 0,
      service_tier: 'standard',
    })
  }
})

test('U4, U5: totals replace each other, and both kinds of cache writes stay apart', () => {
  const { message, sequencer } = encoded([
    { type: 'usage', usage: { input_tokens: 10, output_tokens: 1, cache_write_5m_tokens: 3 } },
    { type: 'usage', usage: { output_tokens: 5, cache_write_1h_tokens: 4 } },
    end,
  ])
  const { cache_creation: written, output_tokens: output } = recordOf(message?.['usage'])
  assert.deepEqual(written, { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4 })
  assert.equal(output, 5)
  assert.equal(sequencer.usage.estimated, false)
})

test('U8: usage that the upstream never stated is estimated from the answer, and marked', () => {
  const { sequencer } = encoded([start('a', textBlock), delta('a', 'x'.repeat(400))])
  assert.deepEqual([sequencer.usage.output_tokens, sequencer.usage.estimated], [100, true])
})

test('K2, K3: a signature in parts is joined, and thinking without any text keeps its signature', () => {
  const { content } = encoded([
    start('a', { type: 'thinking' }),
    { type: 'block_signature', key: 'a', signature: 'sig' },
    { type: 'block_signature', key: 'a', signature: 'nature' },
    stop('a'),
    end,
  ])
  assert.deepEqual(content, [{ type: 'thinking', thinking: '', signature: 'signature' }])
})

test('a whole block passes unchanged', () => {
  const block = { type: 'redacted_thinking', data: 'abc' }
  const { content } = encoded([start('a', { type: 'whole', block }), end])
  assert.deepEqual(content, [block])
})

test('input of a tool call that is not a JSON object is an error, unless the token limit truncated it', () => {
  const cut = [start('a', toolBlock), delta('a', '{"x":')]
  assert.equal(encoded([...cut, end]).message, undefined)
  const limited = encoded([...cut, { type: 'stop', reason: 'max_tokens' }, end])
  assert.deepEqual(limited.content, [{ ...toolBlock, input: {} }])
})

const repairCases: readonly (readonly [string, readonly OrderedEvent[]])[] = [
  ['a delta behind the stop of its block', [start('a', textBlock), stop('a'), delta('a', 'late'), end]],
  ['a second stop', [start('a', textBlock), stop('a'), stop('a'), end]],
  ['a delta without a block', [delta('a', 'lost'), end]],
  ['a second start of a block', [start('a', toolBlock), start('a', toolBlock), end]],
  ['a second message_start', [{ type: 'message_start' }, { type: 'message_start' }, end]],
  ['a signature on text', [start('a', textBlock), { type: 'block_signature', key: 'a', signature: 's' }, end]],
  ['anything after the end', [end, start('a', textBlock)]],
  ['a stop for a tool without a call', [{ type: 'stop', reason: 'tool_use' }, end]],
]

for (const [what, events] of repairCases) {
  test(`T2: ${what} is repaired, counted, and never breaks the order of events`, () => {
    const repairs: string[] = []
    const { body } = encoded(events, repairs)
    assert.equal(repairs.length, 1)
    assert.equal(readStream(body).error, undefined)
  })
}

/** Blocks of an answer, each with the pieces in which its text comes. */
const spoken = fc.array(
  fc.oneof(
    fc.record({ type: fc.constant('text' as const), pieces: fc.array(fc.string({ unit: 'grapheme' })) }),
    fc.record({ type: fc.constant('thinking' as const), pieces: fc.array(fc.string()) }),
    fc.record({
      type: fc.constant('tool_use' as const),
      pieces: fc.dictionary(fc.string(), fc.jsonValue()).map(input => JSON.stringify(input).split(/(?<=[,:])/)),
    }),
  ),
  { maxLength: 6 },
)

test('blocks in any order become a valid stream with the same content', () => {
  fc.assert(
    fc.property(spoken, fc.infiniteStream(fc.nat()), (blocks, choices) => {
      const events = interleaved(blocks, choices)
      const { body, content } = encoded(events)
      const expected = blocks.map(({ pieces }) => pieces.join(''))
      assert.deepEqual(readStream(body).content, content)
      assert.deepEqual(
        content.map(block => block['text'] ?? block['thinking'] ?? block['input']),
        blocks.map(({ type }, at) => (type === 'tool_use' ? JSON.parse(expected[at] ?? '') : expected[at])),
      )
    }),
  )
})

/** The events of `blocks` with calls side by side: text and thinking end where the next block begins. */
function interleaved(blocks: typeof spoken extends fc.Arbitrary<infer T> ? T : never, choices: Iterable<number>) {
  const next = choices[Symbol.iterator]()
  const events: OrderedEvent[] = []
  const open: { key: string; left: string[] }[] = []
  const sayOne = () => {
    const at = next.next().value % open.length
    const block = open[at]
    const text = block?.left.shift()
    if (block && text !== undefined) events.push(delta(block.key, text))
    if (block?.left.length === 0) {
      events.push(stop(block.key))
      open.splice(at, 1)
    }
  }
  for (const [at, { type, pieces }] of blocks.entries()) {
    const isOverlapping = type === 'tool_use' && blocks[at - 1]?.type === 'tool_use' && next.next().value % 2 === 0
    while (open.length > 0 && !isOverlapping) sayOne()
    events.push(start(String(at), type === 'tool_use' ? { type, id: `call_${at}`, name: 'tool' } : { type }))
    open.push({ key: String(at), left: [...pieces] })
  }
  while (open.length > 0) sayOne()
  return [...events, end]
}

test('the estimate is made once, and the request is released at the start of the message', () => {
  for (const usage of [undefined, { input_tokens: 5 }]) {
    const calls: string[] = []
    const sequencer = new Sequencer({
      messageId: 'msg_1',
      model: 'm',
      guess: { tokens: () => calls.push('tokens') && 7, drop: () => void calls.push('drop') },
      out: () => undefined,
      onRepair: what => assert.fail(what),
    })
    sequencer.push({ type: 'message_start', ...(usage && { usage }) })
    assert.deepEqual(calls, usage ? ['drop'] : ['tokens', 'drop'])
    assert.equal(sequencer.usage.input_tokens, usage ? 5 : 7)
  }
})

test('S50: 100,000 calls that an upstream leaves open are put in order in linear time', () => {
  const keys = Array.from({ length: 100_000 }, (_, at) => `call-${at}`)
  const calls = keys.flatMap(key => [start(key, { ...toolBlock, id: key }), delta(key, '{}')])
  assert.equal(encoded([...calls, end]).content.length, 100_000)
})

test('log probabilities of a text that arrives beside a call stay with their parts', () => {
  const part = (text: string) => ({ ...delta('text', text), logprobs: [{ token: text }] })
  const events: unknown[] = []
  const sequencer = new Sequencer({
    messageId: 'msg_1',
    model: 'upstream-model',
    guess: { tokens: () => 7, drop: () => undefined },
    out: event => void (event.type === 'block_delta' && events.push(event)),
    onRepair: what => assert.fail(what),
  })
  for (const event of [start('tool', toolBlock), start('text', textBlock), part('a'), part('b'), end])
    sequencer.push(event)
  assert.deepEqual(events, [{ type: 'block_delta', text: '{}' }, part('a'), part('b')])
})
