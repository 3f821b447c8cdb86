import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { deploymentAt, targetAt } from '../../../../test/support/gateway-app.ts'
import { readGeminiArray, readGeminiStream } from '../../../../test/support/gemini-streams.ts'
import { readChatStream, readResponseStream } from '../../../../test/support/openai-streams.ts'
import { fullUsage, messageFrames, type SpokenBlock, type SpokenMessage } from '../demo/message-frames.ts'
import { carriedBlocks } from '../formats/gemini/carried-state.ts'
import { geminiClient } from '../formats/gemini/read-request.ts'
import { chatClient } from '../formats/openai-chat/read-request.ts'
import { responsesClient } from '../formats/openai-responses/read-request.ts'
import { openedThinking } from '../formats/openai-responses/reasoning.ts'
import type { Sink } from './call.ts'
import type { ClientFormat } from './client-format.ts'
import { createPivotSink } from './pivot-sink.ts'

const target = targetAt(deploymentAt('http://127.0.0.1:1'), 'claude-opus-5-5')
const chat = { model: 'm', messages: [{ role: 'user', content: 'hi' }], stream_options: { include_usage: true } }
const response = { model: 'm', input: 'hi' }
const gemini = {
  contents: [{ parts: [{ text: 'hi' }] }],
  generationConfig: { thinkingConfig: { includeThoughts: true } },
}

/** Sends `chunks` of an answer through a conversion; what the client gets. */
function through(client: ClientFormat, stream: boolean, chunks: readonly Buffer[], type = 'text/event-stream') {
  const out: Buffer[] = []
  let status = 0
  const sink: Sink = {
    head: given => {
      status = given
    },
    data: chunk => out.push(chunk) > 0,
    onDrain: () => assert.fail('there is always room'),
    end: chunk => void (chunk && out.push(chunk)),
  }
  const request = client === chatClient ? chat : client === geminiClient ? gemini : response
  const context = { target, stream, model: 'm', requestId: 'req_0123', createdAt: 7 }
  const { writer, degraded } = client(request, context)
  const pivot = createPivotSink({ sink, writer, stream, degraded })
  pivot.head(200, { 'content-type': type })
  for (const chunk of chunks) pivot.data(chunk)
  pivot.end()
  return { status, text: Buffer.concat(out).toString() }
}

const words = fc.string({ unit: 'grapheme', maxLength: 40 })
const block: fc.Arbitrary<SpokenBlock> = fc.oneof(
  words.map(text => ({ type: 'text' as const, text })),
  fc.record({ type: fc.constant('thinking' as const), thinking: words, signature: fc.string({ minLength: 1 }) }),
  fc.record({
    type: fc.constant('tool_use' as const),
    id: fc.uuid().map(id => `toolu_${id}`),
    name: fc.stringMatching(/^[a-z_]{1,20}$/),
    input: fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 }),
  }),
)
const message: fc.Arbitrary<SpokenMessage> = fc
  .record({
    content: fc.uniqueArray(block, { maxLength: 6, selector: one => ('id' in one ? one.id : Symbol()) }),
    stop_reason: fc.constantFrom('end_turn', 'max_tokens', 'tool_use', 'stop_sequence', 'refusal', 'pause_turn'),
    input: fc.nat(10_000),
    cached: fc.nat(10_000),
    output: fc.nat(10_000),
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
  .map(of => JSON.parse(JSON.stringify(of)) as SpokenMessage)

/** The bytes of a stream, cut at any places. */
const cutStream = (of: SpokenMessage, places: readonly number[]): Buffer[] => {
  const bytes = Buffer.from([...messageFrames(of)].join(''))
  const cuts = [...new Set(places.map(place => place % bytes.length))].sort((a, b) => a - b)
  return [0, ...cuts].map((from, at) => bytes.subarray(from, cuts[at] ?? bytes.length))
}
const places = fc.array(fc.nat(100_000), { maxLength: 40 })

const saidBy = ({ content }: SpokenMessage) => ({
  text: content.map(one => (one.type === 'text' ? one.text : '')).join(''),
  thinking: content.map(one => (one.type === 'thinking' ? one.thinking : '')).join(''),
  calls: content.flatMap(one => (one.type === 'tool_use' ? [{ id: one.id, name: one.name, input: one.input }] : [])),
})

const finishes: Readonly<Record<string, string>> = {
  max_tokens: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
}

test('any legal stream, cut anywhere, becomes chat chunks with the same text, calls, usage and finish', () => {
  fc.assert(
    fc.property(message, places, (of, cuts) => {
      const said = readChatStream(through(chatClient, true, cutStream(of, cuts)).text)
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

test('a chat that is not streamed says the same, in whichever form its answer comes', () => {
  fc.assert(
    fc.property(message, places, (of, cuts) => {
      const streamed = through(chatClient, false, cutStream(of, cuts)).text
      const whole = through(chatClient, false, [Buffer.from(JSON.stringify(of))], 'application/json').text
      assert.deepEqual(JSON.parse(streamed), JSON.parse(whole))
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

test('any legal stream, cut anywhere, becomes Responses events with the same items; the last one holds them all', () => {
  fc.assert(
    fc.property(message, places, (of, cuts) => {
      const said = readResponseStream(through(responsesClient, true, cutStream(of, cuts)).text)
      const items = said.output.map(item => {
        const delta = said.deltas.get(String(item['id'])) ?? ''
        if (item['type'] === 'message') return { type: 'text', text: delta }
        if (item['type'] === 'reasoning') return openedThinking(item['encrypted_content'])
        const input = JSON.parse(String(item['arguments'])) as unknown
        return { type: 'tool_use', id: item['call_id'], name: item['name'], input }
      })
      assert.deepEqual(
        items,
        of.content.filter(one => one.type !== 'text' || one.text !== ''),
      )
      const whole = through(responsesClient, false, [Buffer.from(JSON.stringify(of))], 'application/json').text
      assert.deepEqual(said.response, JSON.parse(whole), 'a call without a stream says the same')
    }),
  )
})

test('any legal stream, cut anywhere, becomes Gemini chunks with the same parts, usage and finish reason', () => {
  fc.assert(
    fc.property(message, places, (of, cuts) => {
      const said = readGeminiStream(through(geminiClient, true, cutStream(of, cuts)).text)
      const { text, thinking, calls } = saidBy(of)
      assert.deepEqual({ text: said.text, thinking: said.thinking, calls: said.calls }, { text, thinking, calls })
      const reasons: Readonly<Record<string, string>> = { max_tokens: 'MAX_TOKENS', refusal: 'SAFETY' }
      assert.equal(said.finish, reasons[of.stop_reason] ?? 'STOP')
      const input = of.usage.input_tokens + Number(of.usage['cache_read_input_tokens'])
      assert.deepEqual(
        [said.usage?.['promptTokenCount'], said.usage?.['totalTokenCount']],
        [input, input + of.usage.output_tokens],
      )
      const whole = through(geminiClient, false, [Buffer.from(JSON.stringify(of))], 'application/json').text
      const streamed = through(geminiClient, false, cutStream(of, cuts)).text
      assert.deepEqual(
        JSON.parse(streamed),
        JSON.parse(whole),
        'the whole answer is the same in whichever form it came',
      )
      assert.deepEqual({ ...readGeminiArray([JSON.parse(whole)]), frames: 0 }, { ...said, frames: 0 })
    }),
  )
})

test('K1: all that was thought comes back out of the signatures of a Gemini stream, in order', () => {
  fc.assert(
    fc.property(message, places, (of, cuts) => {
      const { signatures } = readGeminiStream(through(geminiClient, true, cutStream(of, cuts)).text)
      assert.deepEqual(
        signatures.flatMap(signature => carriedBlocks(signature) ?? assert.fail('it is one of ours')),
        of.content.filter(({ type }) => type === 'thinking'),
      )
    }),
  )
})

test('E5: a stream that breaks off anywhere ends in an error in every format, never in an end of its own', () => {
  fc.assert(
    fc.property(message, fc.nat(100_000), (of, place) => {
      const bytes = Buffer.from([...messageFrames(of)].join(''))
      // Without its empty last line the frame of message_stop is not complete.
      const part = [bytes.subarray(0, place % (bytes.length - 1))]
      assert.equal(readChatStream(through(chatClient, true, part).text).error?.['type'], 'server_error')
      const failed = readResponseStream(through(responsesClient, true, part).text)
      assert.equal(failed.types.at(-1), 'response.failed')
      const broken = readGeminiStream(through(geminiClient, true, part).text)
      assert.deepEqual([broken.error?.['status'], broken.finish], ['UNAVAILABLE', undefined])
      for (const client of [chatClient, responsesClient, geminiClient])
        assert.equal(through(client, false, part).status, 502, 'without a stream it is a plain refusal')
    }),
  )
})
