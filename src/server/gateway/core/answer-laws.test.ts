import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import fc from 'fast-check'
import { deploymentAt, targetAt } from '../../../../test/support/gateway/gateway-app.ts'
import { readGeminiArray, readGeminiStream } from '../../../../test/support/upstream/gemini-streams.ts'
import {
  fullUsage,
  messageFrames,
  type ScriptedBlock,
  type ScriptedMessage,
} from '../../../../test/support/upstream/message-frames.ts'
import { readChatStream, readResponseStream } from '../../../../test/support/upstream/openai-streams.ts'
import { createKeyring } from '../../platform/encryption.ts'
import { anthropicMessagesCodec } from '../formats/anthropic/codec.ts'
import { carriedBlocks } from '../formats/gemini/carried-state.ts'
import { geminiClient } from '../formats/gemini/read-request.ts'
import { chatClient } from '../formats/openai-chat/read-request.ts'
import { responsesClient } from '../formats/openai-responses/read-request.ts'
import { decodedThinking } from '../formats/openai-responses/reasoning.ts'
import type { Attempt, Sink } from './call.ts'
import type { ClientFormat } from './client-format.ts'
import { createCallSignatures, createReasoningSigners } from './reasoning-signers.ts'
import { createTranslation } from './translation.ts'

// Answers state when they were made.
mock.timers.enable({ apis: ['Date'], now: 7_000 })

const target = targetAt(deploymentAt('http://127.0.0.1:1'), 'claude-opus-5-5')
const chat = { model: 'm', messages: [{ role: 'user', content: 'hi' }], stream_options: { include_usage: true } }
const response = { model: 'm', input: 'hi' }
const gemini = {
  contents: [{ parts: [{ text: 'hi' }] }],
  generationConfig: { thinkingConfig: { includeThoughts: true } },
}

const controller = {
  aborted: false,
  paused: false,
  reason: null,
  pause: () => undefined,
  resume: () => undefined,
  abort: () => undefined,
}

/** What a client gets when its upstream, which speaks Anthropic's format, sends `chunks`. */
async function through(client: ClientFormat, stream: boolean, chunks: readonly Buffer[], type = 'text/event-stream') {
  const out: Buffer[] = []
  const sink: Sink = {
    head: () => undefined,
    data: chunk => out.push(chunk) > 0,
    onDrain: () => assert.fail('there is always room'),
    end: chunk => void (chunk && out.push(chunk)),
  }
  const adapter = createTranslation({
    client,
    codec: anthropicMessagesCodec,
    signers: createReasoningSigners(createKeyring([Buffer.alloc(32, 1)])),
    callSignatures: createCallSignatures(),
    pingAfterMs: 60_000,
    bufferMs: 60_000,
    onRepair: what => assert.fail(what),
    send({ exchange }) {
      exchange.onRequestStart(controller)
      exchange.onResponseStart(controller, 200, { 'content-type': type })
      for (const chunk of chunks) exchange.onResponseData(controller, chunk)
      exchange.onResponseEnd()
      return exchange.result
    },
  })
  const ending = await adapter(attemptOf(client, stream), sink)
  const text = ending.outcome === 'refused' ? ending.body.toString() : Buffer.concat(out).toString()
  return { outcome: ending.outcome, status: ending.status, text }
}

function attemptOf(client: ClientFormat, stream: boolean): Attempt {
  const request = client === chatClient ? chat : client === geminiClient ? gemini : response
  return {
    call: {
      kind: 'chat',
      body: Buffer.from(JSON.stringify(request)),
      headers: {},
      query: '',
      requestId: 'req_0123',
      caller: { principal: 'master', key: undefined },
      signal: new AbortController().signal,
    },
    parsed: { model: 'm', modelSpan: { start: 0, end: 0 }, stream, maxTokens: 0 },
    target,
    ownHeaders: {},
    startedMs: performance.now(),
  }
}

const words = fc.string({ unit: 'grapheme', maxLength: 40 })
const block: fc.Arbitrary<ScriptedBlock> = fc.oneof(
  words.map(text => ({ type: 'text' as const, text })),
  fc.record({ type: fc.constant('thinking' as const), thinking: words, signature: fc.string({ minLength: 1 }) }),
  fc.record({
    type: fc.constant('tool_use' as const),
    id: fc.uuid().map(id => `toolu_${id}`),
    name: fc.stringMatching(/^[a-z_]{1,20}$/),
    input: fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 }),
  }),
)
const message: fc.Arbitrary<ScriptedMessage> = fc
  .record({
    content: fc.uniqueArray(block, { maxLength: 6, selector: one => ('id' in one ? one.id : Symbol()) }),
    stop_reason: fc.constantFrom('end_turn', 'max_tokens', 'tool_use', 'stop_sequence', 'refusal', 'pause_turn'),
    input: fc.nat(10_000),
    cached: fc.nat(10_000),
    output: fc.nat(10_000),
  })
  .filter(({ content, stop_reason: reason }) => {
    const hasCall = content.some(({ type }) => type === 'tool_use')
    return hasCall ? reason !== 'end_turn' : reason !== 'tool_use'
  })
  .map(({ content, stop_reason, input, cached, output }) => ({
    id: 'msg_1',
    type: 'message' as const,
    role: 'assistant' as const,
    model: 'claude-opus-5-5',
    content,
    stop_reason,
    stop_sequence: null,
    usage: { ...fullUsage(input, output), cache_read_input_tokens: cached },
  }))
  // As it arrives: JSON has neither -0 nor objects without a prototype.
  .map(of => JSON.parse(JSON.stringify(of)) as ScriptedMessage)

/** The bytes of a stream, cut at any places. */
const cutStream = (of: ScriptedMessage, places: readonly number[]): Buffer[] => {
  const bytes = Buffer.from([...messageFrames(of)].join(''))
  const cuts = [...new Set(places.map(place => place % bytes.length))].sort((a, b) => a - b)
  return [0, ...cuts].map((from, at) => bytes.subarray(from, cuts[at] ?? bytes.length))
}
const wholeBody = (of: ScriptedMessage): Buffer[] => [Buffer.from(JSON.stringify(of))]
const places = fc.array(fc.nat(100_000), { maxLength: 40 })

const saidBy = ({ content }: ScriptedMessage) => ({
  text: content.map(one => (one.type === 'text' ? one.text : '')).join(''),
  thinking: content.map(one => (one.type === 'thinking' ? one.thinking : '')).join(''),
  calls: content.flatMap(one => (one.type === 'tool_use' ? [{ id: one.id, name: one.name, input: one.input }] : [])),
})

const finishes: Readonly<Record<string, string>> = {
  max_tokens: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
}

test('any legal stream, split anywhere, becomes chat chunks with the same text, calls, usage and finish reason', async () => {
  await fc.assert(
    fc.asyncProperty(message, places, async (of, cuts) => {
      const said = readChatStream((await through(chatClient, true, cutStream(of, cuts))).text)
      const calls = said.calls.map(({ id, name, arguments: json }) => ({
        id,
        name,
        input: JSON.parse(json) as unknown,
      }))
      assert.deepEqual({ text: said.text, thinking: said.thinking, calls }, saidBy(of))
      assert.equal(said.finish, finishes[of.stop_reason] ?? 'stop')
      const input = of.usage.input_tokens + Number(of.usage['cache_read_input_tokens'])
      assert.deepEqual(
        [said.usage?.['prompt_tokens'], said.usage?.['completion_tokens'], said.usage?.['total_tokens']],
        [input, of.usage.output_tokens, input + of.usage.output_tokens],
      )
    }),
  )
})

test('a chat without streaming has the same content', async () => {
  await fc.assert(
    fc.asyncProperty(message, async of => {
      const whole = (await through(chatClient, false, wholeBody(of), 'application/json')).text
      const { choices } = JSON.parse(whole) as {
        choices: [{ message: { content: string | null; tool_calls?: { function: { arguments: string } }[] } }]
      }
      const [{ message: answer }] = choices
      assert.equal(answer.content ?? '', saidBy(of).text)
      assert.deepEqual(
        (answer.tool_calls ?? []).map(call => JSON.parse(call.function.arguments) as unknown),
        saidBy(of).calls.map(({ input }) => input),
      )
    }),
  )
})

test('any legal stream, split anywhere, becomes Responses events with the same items; the last event has all of them', async () => {
  await fc.assert(
    fc.asyncProperty(message, places, async (of, cuts) => {
      const said = readResponseStream((await through(responsesClient, true, cutStream(of, cuts))).text)
      const items = said.output.map(item => {
        const delta = said.deltas.get(String(item['id'])) ?? ''
        if (item['type'] === 'message') return { type: 'text', text: delta }
        if (item['type'] === 'reasoning') return decodedThinking(item['encrypted_content'])
        const input = JSON.parse(String(item['arguments'])) as unknown
        return { type: 'tool_use', id: item['call_id'], name: item['name'], input }
      })
      assert.deepEqual(
        items,
        of.content.filter(one => one.type !== 'text' || one.text !== ''),
      )
      const whole = (await through(responsesClient, false, wholeBody(of), 'application/json')).text
      assert.deepEqual(said.response, JSON.parse(whole), 'a call without a stream says the same')
    }),
  )
})

test('any legal stream, split anywhere, becomes Gemini chunks with the same parts, usage and finish reason', async () => {
  await fc.assert(
    fc.asyncProperty(message, places, async (of, cuts) => {
      const said = readGeminiStream((await through(geminiClient, true, cutStream(of, cuts))).text)
      const { text, thinking, calls } = saidBy(of)
      assert.deepEqual({ text: said.text, thinking: said.thinking, calls: said.calls }, { text, thinking, calls })
      const reasons: Readonly<Record<string, string>> = { max_tokens: 'MAX_TOKENS', refusal: 'SAFETY' }
      assert.equal(said.finish, reasons[of.stop_reason] ?? 'STOP')
      const input = of.usage.input_tokens + Number(of.usage['cache_read_input_tokens'])
      assert.deepEqual(
        [said.usage?.['promptTokenCount'], said.usage?.['totalTokenCount']],
        [input, input + of.usage.output_tokens],
      )
      const whole = (await through(geminiClient, false, wholeBody(of), 'application/json')).text
      assert.deepEqual({ ...readGeminiArray([JSON.parse(whole)]), frames: 0 }, { ...said, frames: 0 })
    }),
  )
})

test('K1: the signatures of a Gemini stream restore all thinking, in order', async () => {
  await fc.assert(
    fc.asyncProperty(message, places, async (of, cuts) => {
      const { signatures } = readGeminiStream((await through(geminiClient, true, cutStream(of, cuts))).text)
      assert.deepEqual(
        signatures.flatMap(signature => carriedBlocks(signature) ?? assert.fail('it is one of ours')),
        of.content.filter(({ type }) => type === 'thinking'),
      )
    }),
  )
})

const errorChecks: readonly (readonly [ClientFormat, (text: string) => boolean])[] = [
  [chatClient, text => readChatStream(text).error?.['type'] === 'server_error'],
  [responsesClient, text => readResponseStream(text).types.at(-1) === 'response.failed'],
  [
    geminiClient,
    text => {
      const { error, finish } = readGeminiStream(text)
      return error?.['status'] === 'UNAVAILABLE' && finish === undefined
    },
  ],
]

test('E5: a stream truncated anywhere ends with an error in every format, never as complete', async () => {
  await fc.assert(
    fc.asyncProperty(message, fc.nat(100_000), async (of, place) => {
      const bytes = Buffer.from([...messageFrames(of)].join(''))
      // Without its empty last line the frame of message_stop is not complete.
      const part = [bytes.subarray(0, place % (bytes.length - 1))]
      for (const [client, isError] of errorChecks) {
        const { outcome, status, text } = await through(client, true, part)
        // While nothing is out it can be tried elsewhere.
        if (outcome === 'refused') assert.equal(status, 529)
        else assert.ok(isError(text), text)
      }
    }),
  )
})

test('E5: a truncated whole answer is an upstream error, which can be retried elsewhere', async () => {
  await fc.assert(
    fc.asyncProperty(message, fc.nat(100_000), async (of, place) => {
      const bytes = Buffer.from(JSON.stringify(of))
      const part = [bytes.subarray(0, place % bytes.length)]
      for (const client of [chatClient, responsesClient, geminiClient])
        assert.equal((await through(client, false, part, 'application/json')).status, 502)
    }),
  )
})
