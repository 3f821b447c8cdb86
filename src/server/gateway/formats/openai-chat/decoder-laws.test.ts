import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readStream } from '../../../../../test/support/event-grammar.ts'
import type { Json } from '../../../platform/json.ts'
import type { UpstreamFrame } from '../../core/codec.ts'
import { callChunk, chunk, contextOf, decoded, done, frame, read } from './fixtures.ts'
import { answerEvents } from './read-answer.ts'

interface Call {
  readonly id: string
  readonly name: string
  readonly input: Json
}

/** What an upstream means to say. */
interface Meaning {
  readonly thinking: string
  readonly text: string
  readonly calls: readonly Call[]
  readonly usage: { readonly prompt: number; readonly cached: number; readonly completion: number }
}

const prose = fc.string({ unit: 'binary', maxLength: 40 })
const name = fc.stringMatching(/^[a-z_]{1,12}$/)
const input = fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
const meaning: fc.Arbitrary<Meaning> = fc.record({
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

/** A source of choices that shrinks: each call of `below` uses one number. */
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

/** The chunks of one call: id and name come somewhere, once or repeated, with arguments or without. */
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

/** The rows mixed, each in its own order. */
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

const usageFrame = ({ usage: { prompt, cached, completion } }: Meaning) =>
  frame({
    choices: [],
    usage: { prompt_tokens: prompt, completion_tokens: completion, prompt_tokens_details: { cached_tokens: cached } },
  })

/** One of the many streams that say `said`. */
function streamOf(said: Meaning, roll: Dice): UpstreamFrame[] {
  const calls = said.calls.map((call, index) => callFrames(call, index, roll))
  return [
    chunk({ role: 'assistant', content: '' }),
    ...cut(said.thinking, roll).map(part => chunk({ reasoning_content: part })),
    // Text may go on while calls come.
    ...mixed([cut(said.text, roll).map(part => chunk({ content: part })), ...calls], roll),
    chunk({}, said.calls.length > 0 ? 'tool_calls' : 'stop'),
    usageFrame(said),
    ...(roll(2) === 0 ? [done] : []),
  ]
}

const joined = (content: readonly Json[], field: string) => content.map(block => block[field] ?? '').join('')
const callsOf = (content: readonly Json[]) =>
  content
    .filter(block => block['type'] === 'tool_use')
    .map(({ id, name: called, input: given }) => ({ id, name: called, input: given }))
const byId = (a: { readonly id: unknown }, b: { readonly id: unknown }) => (String(a.id) < String(b.id) ? -1 : 1)

function assertSays(got: ReturnType<typeof read>, said: Meaning): void {
  readStream(got.wire)
  assert.equal(joined(got.content, 'thinking'), said.thinking)
  assert.equal(joined(got.content, 'text'), said.text)
  assert.deepEqual(
    callsOf(got.content).sort(byId),
    // Through JSON, as it travelled: -0 and __proto__ do not survive that.
    (JSON.parse(JSON.stringify(said.calls)) as Call[]).sort(byId),
  )
  const { prompt, cached, completion } = said.usage
  assert.equal(got.usage.input_tokens, Math.max(0, prompt - cached))
  assert.equal(got.usage.cache_read_tokens, cached)
  assert.equal(got.usage.output_tokens, completion)
  assert.equal(got.stopReason, said.calls.length > 0 ? 'tool_use' : 'end_turn')
}

test('T2: however a stream is cut and mixed, the client gets the same text, arguments and usage in legal order', () => {
  fc.assert(
    fc.property(meaning, dice, (said, roll) => assertSays(read(decoded(streamOf(said, roll))), said)),
    { numRuns: 400 },
  )
})

test('a whole answer says the same as its stream', () => {
  fc.assert(
    fc.property(meaning, said => {
      const { prompt, cached, completion } = said.usage
      const body = {
        id: 'chatcmpl-1',
        choices: [
          {
            finish_reason: 'stop',
            message: {
              content: said.text === '' ? null : said.text,
              reasoning: said.thinking,
              tool_calls: said.calls.map(({ id, name: called, input: given }) => ({
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
      assertSays(read(answerEvents(body, contextOf())), said)
    }),
  )
})

test('S4: a stream cut after any chunk before its finish reason never ends', () => {
  fc.assert(
    fc.property(meaning, dice, fc.nat(), (said, roll, at) => {
      const frames = streamOf(said, roll)
      const finish = frames.findIndex(({ data }) => /"finish_reason":"/.test(data))
      assert.equal(read(decoded(frames.slice(0, at % (finish + 1)))).hasEnded, false)
    }),
  )
})

test('F17: nothing that an upstream sends makes the decoder throw or break the grammar', () => {
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
