import { encodedAnswer } from '../../../../../test/support/encoded-answer.ts'
import { sentUpstream } from '../../../../../test/support/sent-upstream.ts'
import { type Json, recordOf } from '../../../platform/json.ts'
import { createKeyring } from '../../../platform/seal.ts'
import type { UpstreamEvent } from '../../core/answer-event.ts'
import type { CanonicalRequest, CodecContext, UpstreamFrame } from '../../core/codec.ts'
import { createReasoningSeals } from '../../core/reasoning-seal.ts'
import { bedrockConverse } from './codec.ts'

export const claude = 'global.anthropic.claude-sonnet-4-5-20250929-v1:0'
export const newestClaude = 'global.anthropic.claude-opus-5-5'
export const nova = 'eu.amazon.nova-pro-v1:0'
export const gptOss = 'openai.gpt-oss-120b-1:0'
export const llama = 'us.meta.llama4-maverick-17b-instruct-v1:0'

const seals = createReasoningSeals(createKeyring([Buffer.alloc(32, 7)]))

/** The context of a call to a model; its seal is real. */
export const contextFor = (upstreamModel: string = claude, stream = true): CodecContext => ({
  deployment: { id: 'd1', provider: 'bedrock', apiBase: 'https://bedrock.test' },
  upstreamModel,
  stream,
  requestId: 'req_1',
  reasoning: seals({ provider: 'bedrock', model: upstreamModel }),
  callSignatures: { remember: () => undefined, recall: () => undefined },
})

/** What goes upstream for `request`, as it arrives there. */
export const sent = (request: CanonicalRequest, upstreamModel: string = claude) =>
  sentUpstream(bedrockConverse, request, contextFor(upstreamModel))

/** The content of all messages that go upstream, one list a message. */
export const contents = (messages: readonly Json[], upstreamModel: string = claude): readonly unknown[] =>
  (sent({ messages }, upstreamModel).body['messages'] as readonly Json[]).map(({ content }) => content)

/** One user message's content as it arrives upstream. */
export const userContent = (content: unknown, upstreamModel: string = claude): unknown =>
  contents([{ role: 'user', content }], upstreamModel)[0]

export const frame = (event: string, payload: Json = {}): UpstreamFrame => ({ event, data: JSON.stringify(payload) })

export const delta = (contentBlockIndex: number, part: Json): UpstreamFrame =>
  frame('contentBlockDelta', { contentBlockIndex, delta: part, p: 'abcdefgh' })

export const callStart = (contentBlockIndex: number, toolUseId: string, name: string): UpstreamFrame =>
  frame('contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId, name } } })

export const stop = (contentBlockIndex: number): UpstreamFrame => frame('contentBlockStop', { contentBlockIndex })

/** The end of an answer: the reason, and the usage behind it. */
export const ending = (stopReason: string, usage: Json = { inputTokens: 10, outputTokens: 5, totalTokens: 15 }) => [
  frame('messageStop', { stopReason }),
  frame('metadata', { usage, metrics: { latencyMs: 5 } }),
]

/** What the decoder says of a whole stream. */
export function decoded(frames: readonly UpstreamFrame[], context = contextFor()): readonly UpstreamEvent[] {
  const decoder = bedrockConverse.decoder(context)
  return [...frames.flatMap(one => [...decoder.push(one)]), ...decoder.end()]
}

/** What a client reads of `events`; the stream only with its end. */
export function read(events: readonly UpstreamEvent[]) {
  const { stream, hasEnded, message, content, degraded, error } = encodedAnswer(events)
  return {
    content,
    usage: recordOf(message?.['usage']),
    stopReason: message?.['stop_reason'],
    stopSequence: message?.['stop_sequence'],
    wire: hasEnded ? stream : undefined,
    degraded,
    error,
  }
}
