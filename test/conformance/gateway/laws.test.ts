import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import type { Attempt, Sink } from '../../../src/server/gateway/core/call.ts'
import { createCallSignatures, createReasoningSigners } from '../../../src/server/gateway/core/reasoning-signers.ts'
import { createTranslation } from '../../../src/server/gateway/core/translation.ts'
import { codecs } from '../../../src/server/gateway/format-adapters.ts'
import { anthropicClient } from '../../../src/server/gateway/formats/anthropic/write-answer.ts'
import { createKeyring } from '../../../src/server/platform/encryption.ts'
import { deploymentAt, targetAt } from '../../support/gateway/gateway-app.ts'
import { type ReadStream, readStream } from '../../support/sessions/event-grammar.ts'
import type { ScriptedBlock, ScriptedMessage } from '../../support/upstream/message-frames.ts'
import { dialectOf, simple, translated } from './setup.ts'

const controller = {
  aborted: false,
  paused: false,
  reason: null,
  pause: () => undefined,
  resume: () => undefined,
  abort: () => undefined,
}

/** What the passthrough of `protocol` makes of an upstream's bytes: the client's text, or the upstream error that can be retried. */
async function relayed(protocol: (typeof translated)[number], chunks: readonly Buffer[]) {
  const { streamType } = dialectOf(protocol)
  const adapter = createTranslation({
    client: anthropicClient,
    codec: codecs[protocol],
    signers: createReasoningSigners(createKeyring([Buffer.alloc(32, 1)])),
    callSignatures: createCallSignatures(),
    pingAfterMs: 60_000,
    bufferMs: 60_000,
    onRepair(what) {
      throw new Error(what)
    },
    send({ exchange }) {
      exchange.onRequestStart(controller)
      exchange.onResponseStart(controller, 200, { 'content-type': streamType })
      for (const chunk of chunks) exchange.onResponseData(controller, chunk)
      exchange.onResponseEnd()
      return exchange.result
    },
  })
  const said: Buffer[] = []
  const sink: Sink = {
    head: () => undefined,
    data: chunk => said.push(chunk) > 0,
    onDrain: () => undefined,
    end: chunk => void (chunk && said.push(chunk)),
  }
  const ending = await adapter(attemptOf(protocol), sink)
  return { ending, text: Buffer.concat(said).toString() }
}

function attemptOf(protocol: (typeof translated)[number]): Attempt {
  const body = Buffer.from(JSON.stringify({ model: 'test-model', ...simple, stream: true }))
  const deployment = deploymentAt('http://127.0.0.1:1', { protocols: [protocol] })
  return {
    call: {
      kind: 'messages',
      body,
      headers: {},
      query: '',
      requestId: 'req_1',
      caller: { principal: 'master', key: undefined },
      signal: new AbortController().signal,
    },
    parsed: { model: 'test-model', modelSpan: { start: 9, end: 21 }, stream: true, maxTokens: 512 },
    target: targetAt(deployment, 'some-model'),
    ownHeaders: {},
    startedMs: performance.now(),
  }
}

/** Text that a model may say; a protocol has no way to say an empty block. */
const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 })

const block: fc.Arbitrary<ScriptedBlock> = fc.oneof(
  fc.record({ type: fc.constant('text' as const), text: words }),
  fc.record({
    type: fc.constant('tool_use' as const),
    id: fc.stringMatching(/^call_[a-z0-9]{8}$/),
    name: fc.constantFrom('look', 'run_it'),
    input: fc.dictionary(words, fc.jsonValue({ maxDepth: 2 })) as fc.Arbitrary<unknown>,
  }),
)

const message: fc.Arbitrary<ScriptedMessage> = fc
  .record({
    thinking: fc.option(words),
    blocks: fc.uniqueArray(block, { selector: said => (said.type === 'tool_use' ? said.id : said), maxLength: 4 }),
    input: fc.nat(100_000),
    cached: fc.nat(100_000),
    output: fc.nat(100_000),
  })
  .map(({ thinking, blocks, input, cached, output }) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'some-model',
    content: [
      ...(thinking === null ? [] : [{ type: 'thinking' as const, thinking, signature: 'sig' }]),
      // Text that follows text is one text to every protocol.
      ...blocks.filter(({ type }, at) => type !== 'text' || blocks[at - 1]?.type !== 'text'),
    ],
    stop_reason: blocks.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: input, cache_read_input_tokens: cached, output_tokens: output },
  }))

/** `bytes` in pieces, cut at the places that `cuts` picks. */
function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set(cuts.map(cut => cut % (bytes.length + 1)))].toSorted((a, b) => a - b)
  return [0, ...places].map((from, at) => bytes.subarray(from, places[at] ?? bytes.length))
}

/** What counts of an answer, whatever its framing. */
const gist = ({ content, usage }: Pick<ReadStream, 'content' | 'usage'>) => ({
  text: content.map(said => (said['type'] === 'text' ? said['text'] : '')).join(''),
  thinking: content.map(said => (said['type'] === 'thinking' ? said['thinking'] : '')).join(''),
  calls: content
    .filter(said => said['type'] === 'tool_use')
    .map(said => ({ name: said['name'], input: said['input'] })),
  usage: ['input_tokens', 'cache_read_input_tokens', 'output_tokens'].map(name => usage[name]),
})

for (const protocol of translated) {
  test(`T2, ${protocol}: any answer, cut into any chunks, becomes a grammatical stream with the same text, inputs and usage`, async () => {
    await fc.assert(
      fc.asyncProperty(message, fc.array(fc.nat(), { maxLength: 12 }), async (said, cuts) => {
        const bytes = Buffer.concat(dialectOf(protocol).frames(said))
        const { text, ending } = await relayed(protocol, cutAt(bytes, cuts))
        assert.equal(ending.outcome, 'completed')
        assert.deepEqual(
          gist(readStream(text)),
          gist({ content: JSON.parse(JSON.stringify(said.content)) as ReadStream['content'], usage: said.usage }),
        )
      }),
      { numRuns: 60 },
    )
  })

  test(`S4, ${protocol}: a stream that ends at any byte is an upstream error or ends in an error event, never in a made-up end`, t =>
    everyCut(t, protocol))
}

const long: ScriptedMessage = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'some-model',
  content: [
    { type: 'thinking', thinking: 'first the sea, then the land', signature: 'sig' },
    { type: 'text', text: 'Die Küste: über 40 Wörter … und 🌊 dazu' },
    { type: 'tool_use', id: 'call_1', name: 'look', input: { what: 'it', deep: { er: [1, 2, 3] } } },
    { type: 'tool_use', id: 'call_2', name: 'look', input: {} },
  ],
  stop_reason: 'tool_use',
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 20 },
}

async function everyCut(t: TestContext, protocol: (typeof translated)[number]): Promise<void> {
  const bytes = Buffer.concat(dialectOf(protocol).frames(long))
  let refused = 0
  let broken = 0
  for (let length = 0; length < bytes.length; length++) {
    const { ending, text } = await relayed(protocol, [bytes.subarray(0, length)])
    if (ending.outcome === 'refused') {
      refused++
      assert.equal(text, '')
    } else if (ending.outcome === 'failed') {
      broken++
      assert.ok(readStream(text).error)
      assert.ok(!text.includes('message_stop'))
    } else {
      // Everything that makes the answer whole was there: what is missing is the frames behind the end.
      assert.deepEqual(gist(readStream(text)).calls.length, 2)
    }
  }
  assert.ok(refused > 0 && broken > 0)
  t.diagnostic(`${bytes.length} cuts: ${refused} refused, ${broken} told, ${bytes.length - refused - broken} whole`)
}
