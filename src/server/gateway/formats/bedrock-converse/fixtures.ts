import { encodedAnswer } from '../../../../../test/support/upstream/encoded-answer.ts'
import { sentUpstream } from '../../../../../test/support/upstream/sent-upstream.ts'
import { createKeyring } from '../../../platform/encryption.ts'
import { type Json, recordOf } from '../../../platform/json.ts'
import type { UpstreamEvent } from '../../core/answer-event.ts'
import type { CanonicalRequest, CodecContext, UpstreamFrame } from '../../core/codec.ts'
import { createReasoningSigners } from '../../core/reasoning-signers.ts'
import { bedrockConverse } from './codec.ts'

export const claude = 'global.anthropic.claude-sonnet-4-5-20250929-v1:0'
export const newestClaude = 'global.anthropic.claude-opus-5-5'
export const nova = 'eu.amazon.nova-pro-v1:0'
export const gptOss = 'openai.gpt-oss-120b-1:0'
export const llama = 'us.meta.llama4-maverick-17b-instruct-v1:0'

const signers = createReasoningSigners(createKeyring([Buffer.alloc(32, 7)]))

/** Returns the context of a call to a model, with real reasoning signatures. */
export const contextFor = (upstreamModel: string = claude, stream = true): CodecContext => ({
  deployment: { id: 'd1', provider: 'bedrock', apiBase: 'https://bedrock.test' },
  upstreamModel,
  stream,
  requestId: 'req_1',
  reasoning: signers({ provider: 'bedrock', model: upstreamModel }),
  callSignatures: { set: () => undefined, get: () => undefined },
})

/** Returns the upstream request for `request`. */
export const sent = (request: CanonicalRequest, upstreamModel: string = claude) =>
  sentUpstream(bedrockConverse, request, contextFor(upstreamModel))

/** Returns the contents of the upstream messages. */
export const contents = (messages: readonly Json[], upstreamModel: string = claude): readonly unknown[] =>
  (sent({ messages }, upstreamModel).body['messages'] as readonly Json[]).map(({ content }) => content)

/** Returns the upstream content of one user message. */
export const userContent = (content: unknown, upstreamModel: string = claude): unknown =>
  contents([{ role: 'user', content }], upstreamModel)[0]

export const frame = (event: string, payload: Json = {}): UpstreamFrame => ({ event, data: JSON.stringify(payload) })

export const delta = (contentBlockIndex: number, part: Json): UpstreamFrame =>
  frame('contentBlockDelta', { contentBlockIndex, delta: part, p: 'abcdefgh' })

export const callStart = (contentBlockIndex: number, toolUseId: string, name: string): UpstreamFrame =>
  frame('contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId, name } } })

export const stop = (contentBlockIndex: number): UpstreamFrame => frame('contentBlockStop', { contentBlockIndex })

/** Returns the last frames of an answer: stop reason and usage. */
export const ending = (stopReason: string, usage: Json = { inputTokens: 10, outputTokens: 5, totalTokens: 15 }) => [
  frame('messageStop', { stopReason }),
  frame('metadata', { usage, metrics: { latencyMs: 5 } }),
]

/** Returns the decoder's events for a complete stream. */
export function decoded(frames: readonly UpstreamFrame[], context = contextFor()): readonly UpstreamEvent[] {
  const decoder = bedrockConverse.decoder(context)
  return [...frames.flatMap(one => [...decoder.push(one)]), ...decoder.end()]
}

/** Returns what a client reads of `events`. `sse` is undefined for a stream without an end. */
export function read(events: readonly UpstreamEvent[]) {
  const { stream, hasEnded, message, content, degraded, error } = encodedAnswer(events)
  return {
    content,
    usage: recordOf(message?.['usage']),
    stopReason: message?.['stop_reason'],
    stopSequence: message?.['stop_sequence'],
    sse: hasEnded ? stream : undefined,
    degraded,
    error,
  }
}
