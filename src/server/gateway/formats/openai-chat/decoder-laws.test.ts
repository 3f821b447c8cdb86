import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readStream } from '../../../../../test/support/sessions/event-grammar.ts'
import type { Json } from '../../../platform/json.ts'
import type { UpstreamFrame } from '../../core/codec.ts'
import { callChunk, chunk, contextOf, decoded, done, frame, read } from './fixtures.ts'
import { answerEvents } from './read-answer.ts'

interface Call {
  readonly id: string
  readonly name: string
  readonly input: Json
}

/** Content of an answer. */
interface Answer {
  readonly thinking: string
  readonly text: string
  readonly calls: readonly Call[]
  readonly usage: { readonly prompt: number; readonly cached: number; readonly completion: number }
}

const prose = fc.string({ unit: 'binary', maxLength: 40 })
const name = fc.stringMatching(/^[a-z_]{1,12}$/)
const input = fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
const anyAnswer: fc.Arbitrary<Answer> = fc.record({
  thinking: prose,
  text: prose,
  calls: fc.uniqueArray(fc.record({ id: fc.stringMatching(/^call_[a-z0-9]{1,8}$/), name, input }), {
    selector: ({ id }) => id,
    maxLength: 4,
  }),
  usage: fc.record({
    prompt: fc.nat({ max: 1_000_000 }),
    cached: fc.nat({ max: 1_000_000 }),
    completion: fc.nat({ max: 1_000_000 }),
  }),
})

/** Shrinkable source of choices: each call returns a number below `below`. */
type Dice = (below: number) => number
const dice = fc.infiniteStream(fc.nat({ max: 1_000_000 })).map((stream): Dice => {
  return below => (stream.next().value ?? 0) % below
})

function cut(text: string, roll: Dice): string[] {
  const parts: string[] = []
  for (let at = 0; at < text.length; ) {
    const length = 1 + roll(7)
    parts.push(text.slice(at, at + length))
    at += length
  }
  return parts
}

/** Returns the chunks of one call. Id and name come in any chunk, once or repeated, with or without arguments. */
function callFrames({ id, name: called, input: given }: Call, index: number, roll: Dice): UpstreamFrame[] {
  const parts = Object.keys(given).length === 0 && roll(2) === 0 ? [] : cut(JSON.stringify(given), roll)
  const last = Math.max(parts.length - 1, 0)
  const idAt = roll(Math.min(last, 3) + 1)
  const nameAt = roll(Math.min(last, 3) + 1)
  const repeats = roll(2) === 0
  const shown = (at: number, from: number) => at === from || (repeats && at > from)
  return (parts.length === 0 ? [''] : parts).map((args, at) =>
    callChunk(index, {
      ...(shown(at, idAt) && { id }),
      ...(shown(at, nameAt) && { name: called }),
      args,
    }),
  )
}

/** Interleaves the rows, each in its own order. */
function mixed(rows: readonly UpstreamFrame[][], roll: Dice): UpstreamFrame[] {
  const left = rows.map(row => [...row]).filter(row => row.length > 0)
  const out: UpstreamFrame[] = []
  while (left.length > 0) {
    const at = roll(left.length)
    const next = left[at]?.shift()
    if (next) out.push(next)
    if (left[at]?.length === 0) left.splice(at, 1)
  }
  return out
}

const usageFrame = ({ usage: { prompt, cached, completion } }: Answer) =>
  frame({
    choices: [],
    usage: { prompt_tokens: prompt, completion_tokens: completion, prompt_tokens_details: { cached_tokens: cached } },
  })

/** Returns one of the possible streams for `answer`. */
function streamOf(answer: Answer, roll: Dice): UpstreamFrame[] {
  const calls = answer.calls.map((call, index) => callFrames(call, index, roll))
  return [
    chunk({ role: 'assistant', content: '' }),
    ...cut(answer.thinking, roll).map(part => chunk({ reasoning_content: part })),
    // Text may continue between parts of calls.
    ...mixed([cut(answer.text, roll).map(part => chunk({ content: part })), ...calls], roll),
    chunk({}, answer.calls.length > 0 ? 'tool_calls' : 'stop'),
    usageFrame(answer),
    ...(roll(2) === 0 ? [done] : []),
  ]
}

const joined = (content: readonly Json[], field: string) => content.map(block => block[field] ?? '').join('')
const callsOf = (content: readonly Json[]) =>
  content
    .filter(block => block['type'] === 'tool_use')
    .map(({ id, name: called, input: given }) => ({ id, name: called, input: given }))
const byId = (a: { readonly id: unknown }, b: { readonly id: unknown }) => (String(a.id) < String(b.id) ? -1 : 1)

function assertSays(got: ReturnType<typeof read>, answer: Answer): void {
  readStream(got.sse)
  assert.equal(joined(got.content, 'thinking'), answer.thinking)
  assert.equal(joined(got.content, 'text'), answer.text)
  assert.deepEqual(
    callsOf(got.content).sort(byId),
    // Compared after JSON, which does not preserve -0 and __proto__.
    (JSON.parse(JSON.stringify(answer.calls)) as Call[]).sort(byId),
  )
  const { prompt, cached, completion } = answer.usage
  assert.equal(got.usage.input_tokens, Math.max(0, prompt - cached))
  assert.equal(got.usage.cache_read_tokens, cached)
  assert.equal(got.usage.output_tokens, completion)
  assert.equal(got.stopReason, answer.calls.length > 0 ? 'tool_use' : 'end_turn')
}

test('T2: a stream split and interleaved in any way gives the same text, arguments and usage in legal order', () => {
  fc.assert(
    fc.property(anyAnswer, dice, (answer, roll) => assertSays(read(decoded(streamOf(answer, roll))), answer)),
    { numRuns: 400 },
  )
})

test('a whole answer equals its stream', () => {
  fc.assert(
    fc.property(anyAnswer, answer => {
      const { prompt, cached, completion } = answer.usage
      const body = {
        id: 'chatcmpl-1',
        choices: [
          {
            finish_reason: 'stop',
            message: {
              content: answer.text === '' ? null : answer.text,
              reasoning: answer.thinking,
              tool_calls: answer.calls.map(({ id, name: called, input: given }) => ({
                id,
                function: { name: called, arguments: JSON.stringify(given) },
              })),
            },
          },
        ],
        usage: {
          prompt_tokens: prompt,
          completion_tokens: completion,
          prompt_tokens_details: { cached_tokens: cached },
        },
      }
      assertSays(read(answerEvents(body, contextOf())), answer)
    }),
  )
})

test('S4: a stream truncated before its finish reason has no end', () => {
  fc.assert(
    fc.property(anyAnswer, dice, fc.nat(), (answer, roll, at) => {
      const frames = streamOf(answer, roll)
      const finish = frames.findIndex(({ data }) => /"finish_reason":"/.test(data))
      assert.equal(read(decoded(frames.slice(0, at % (finish + 1)))).hasEnded, false)
    }),
  )
})

test('F17: the decoder never throws or breaks the grammar, whatever the upstream sends', () => {
  const delta = fc.record(
    {
      content: fc.oneof(fc.string(), fc.jsonValue()),
      reasoning_content: fc.jsonValue(),
      reasoning_details: fc.jsonValue(),
      refusal: fc.jsonValue(),
      tool_calls: fc.array(
        fc.record(
          {
            index: fc.oneof(fc.nat({ max: 2 }), fc.jsonValue()),
            id: fc.oneof(fc.string(), fc.jsonValue()),
            function: fc.record({
              name: fc.oneof(name, fc.jsonValue()),
              arguments: fc.oneof(fc.json(), fc.jsonValue()),
            }),
          },
          { requiredKeys: [] },
        ),
      ),
    },
    { requiredKeys: [] },
  )
  const choice = fc.record(
    { index: fc.nat({ max: 1 }), delta, finish_reason: fc.oneof(fc.constant(null), fc.string(), fc.jsonValue()) },
    { requiredKeys: [] },
  )
  const body = fc.oneof(
    fc.record({ id: fc.jsonValue(), choices: fc.array(choice), usage: fc.jsonValue() }, { requiredKeys: [] }),
    fc.jsonValue(),
  )
  const frames = fc.array(
    fc.oneof(
      body.map(frame),
      fc.string().map(data => ({ event: undefined, data })),
    ),
  )
  fc.assert(
    fc.property(frames, given => {
      read(decoded(given))
    }),
    { numRuns: 500 },
  )
  fc.assert(
    fc.property(body, given => {
      assert.match(answerEvents(given, contextOf()).at(-1)?.type ?? '', /^(message_stop|error)$/)
    }),
  )
})
