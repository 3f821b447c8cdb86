import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readStream } from '../../../../../test/support/sessions/event-grammar.ts'
import { awsEvent } from '../../../../../test/support/upstream/dialects/aws-frame.ts'
import type { Json } from '../../../platform/json.ts'
import { createAwsEventStream } from '../../bytes/aws-event-stream.ts'
import type { UpstreamFrame } from '../../core/codec.ts'
import { callStart, contextFor, decoded, delta, ending, frame, read, stop } from './fixtures.ts'
import { answerEvents } from './read-answer.ts'

/** Block of an answer, and its parts in a stream. */
interface Said {
  readonly block: Json
  readonly deltas: readonly Json[]
  readonly call?: { readonly id: string; readonly name: string }
}

/** Splits a text at places derived from the numbers. */
const cut = (text: string, places: readonly number[]): readonly string[] => {
  const ends = [...new Set(places.map(place => place % (text.length + 1)))].sort((a, b) => a - b)
  return [...ends, text.length].map((end, index) => text.slice(index === 0 ? 0 : ends[index - 1], end))
}

const places = fc.array(fc.nat(), { maxLength: 6 })
const prose = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }).filter(text => text.trim() !== '')
const text = fc.tuple(prose, places).map(
  ([words, ends]): Said => ({
    block: { text: words },
    deltas: cut(words, ends).map(part => ({ text: part })),
  }),
)
const thinking = fc.tuple(prose, fc.base64String({ minLength: 4 }), places).map(
  ([words, signature, ends]): Said => ({
    block: { reasoningContent: { reasoningText: { text: words, signature } } },
    deltas: [
      ...cut(words, ends).map(part => ({ reasoningContent: { text: part } })),
      ...cut(signature, ends).map(part => ({ reasoningContent: { signature: part } })),
    ],
  }),
)
const input = fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
const call = fc
  .tuple(fc.stringMatching(/^tooluse_[a-zA-Z0-9_-]{4,10}$/), fc.stringMatching(/^[a-z_]{1,12}$/), input, places)
  .map(
    ([toolUseId, name, given, ends]): Said => ({
      block: { toolUse: { toolUseId, name, input: given } },
      deltas: cut(JSON.stringify(given), ends).map(part => ({ toolUse: { input: part } })),
      call: { id: toolUseId, name },
    }),
  )
const tokens = fc.nat({ max: 1_000_000 })
const answer = fc.record({
  said: fc.array(fc.oneof(text, thinking, call), { maxLength: 5 }),
  usage: fc.record({ inputTokens: tokens, outputTokens: tokens, cacheReadInputTokens: tokens }),
})

function framesOf(said: readonly Said[], usage: Json): readonly UpstreamFrame[] {
  const stopReason = said.some(({ call: found }) => found) ? 'tool_use' : 'end_turn'
  return [
    frame('messageStart', { role: 'assistant' }),
    ...said.flatMap(({ deltas, call: found }, index) => [
      ...(found ? [callStart(index, found.id, found.name)] : []),
      ...deltas.map(part => delta(index, part)),
      stop(index),
    ]),
    ...ending(stopReason, usage),
  ]
}

test('T2, T9, U4: a stream split at any places is grammatical and equals the whole answer', () => {
  const property = fc.property(answer, ({ said, usage }) => {
    const streamed = read(decoded(framesOf(said, usage)))
    const stopReason = said.some(({ call: found }) => found) ? 'tool_use' : 'end_turn'
    const body = {
      output: { message: { role: 'assistant', content: said.map(({ block }) => block) } },
      stopReason,
      usage,
    }
    const whole = read(answerEvents(body, contextFor()))
    assert.deepEqual(streamed.content, whole.content)
    assert.deepEqual(streamed.usage, whole.usage)
    assert.equal(streamed.stopReason, whole.stopReason)
    assert.equal(readStream(streamed.sse ?? '').stopReason, stopReason)
    assert.equal(streamed.usage['input_tokens'], usage.inputTokens)
  })
  fc.assert(property, { numRuns: 300 })
})

test('S4: a stream truncated before messageStop has no message_stop', () => {
  const property = fc.property(answer, fc.nat(), ({ said, usage }, place) => {
    const frames = framesOf(said, usage)
    const kept = frames.slice(0, place % (frames.length - 1))
    assert.ok(!decoded(kept).some(({ type }) => type === 'message_stop'))
  })
  fc.assert(property)
})

const bytesOf = ({ event = '', data }: UpstreamFrame): Buffer => awsEvent(event, JSON.parse(data))

test('an event stream split at any bytes gives the same answer', () => {
  const property = fc.property(answer, places, ({ said, usage }, ends) => {
    const frames = framesOf(said, usage)
    const bytes = Buffer.concat(frames.map(bytesOf))
    const stream = createAwsEventStream()
    const cuts = [...new Set(ends.map(end => end % (bytes.length + 1)))].sort((a, b) => a - b)
    const pieces = [...cuts, bytes.length].map((end, index) => bytes.subarray(index === 0 ? 0 : cuts[index - 1], end))
    assert.deepEqual(read(decoded(pieces.flatMap(piece => [...stream(piece)]))), read(decoded(frames)))
  })
  fc.assert(property)
})
