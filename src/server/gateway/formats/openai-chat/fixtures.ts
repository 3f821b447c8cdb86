import { encodedAnswer } from '../../../../../test/support/upstream/encoded-answer.ts'
import { plainContext, sentUpstream } from '../../../../../test/support/upstream/sent-upstream.ts'
import { type Json, listOf, recordOf } from '../../../platform/json.ts'
import type { UpstreamEvent } from '../../core/answer-event.ts'
import type { CanonicalRequest, CodecContext, UpstreamFrame } from '../../core/codec.ts'
import { openaiChat } from './codec.ts'

/** Returns a context of a compatible server, with readable reasoning signatures. */
export const contextOf = (changes: Partial<CodecContext> = {}): CodecContext => ({
  deployment: deploymentOf('openai-compatible'),
  upstreamModel: 'some-model',
  ...plainContext,
  ...changes,
})

/** Returns a deployment of `provider`. */
export const deploymentOf = (provider: string): CodecContext['deployment'] => ({
  id: 'd1',
  provider,
  apiBase: 'https://upstream.test/v1',
})

/** Returns the changes for a context of OpenAI. */
export const openAi = (upstreamModel: string): Partial<CodecContext> => ({
  upstreamModel,
  deployment: deploymentOf('openai'),
})

/** Returns the upstream request for `request`. */
export const sent = (request: CanonicalRequest, changes: Partial<CodecContext> = {}) =>
  sentUpstream(openaiChat, request, contextOf(changes))

/** Returns the upstream messages for `messages`, and the degradations. */
export function conversation(messages: readonly Json[], changes: Partial<CodecContext> = {}) {
  const { body, degraded } = sent({ messages }, changes)
  return { messages: listOf(body['messages']).map(recordOf), degraded }
}

/** Returns a frame with a chunk. */
export const frame = (body: unknown): UpstreamFrame => ({ event: undefined, data: JSON.stringify(body) })

/** Returns a frame with a chunk of the first choice. */
export const chunk = (delta: Json, finish: string | null = null): UpstreamFrame =>
  frame({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    model: 'some-model-2026',
    choices: [{ index: 0, delta, finish_reason: finish }],
  })

/** Returns a frame with a part of a tool call. */
export const callChunk = (
  index: number | undefined,
  { id, name, args }: { id?: string; name?: string; args?: string },
) =>
  chunk({
    tool_calls: [
      {
        ...(index !== undefined && { index }),
        ...(id !== undefined && { id, type: 'function' }),
        function: { ...(name !== undefined && { name }), ...(args !== undefined && { arguments: args }) },
      },
    ],
  })

export const done: UpstreamFrame = { event: undefined, data: '[DONE]' }

/** Returns the decoder's events for a complete stream. */
export function decoded(frames: readonly UpstreamFrame[]): readonly UpstreamEvent[] {
  const decoder = openaiChat.decoder(contextOf())
  return [...frames.flatMap(one => [...decoder.push(one)]), ...decoder.end()]
}

/** Returns what a client reads of `events`. */
export function read(events: readonly UpstreamEvent[]) {
  const { stream, ...answer } = encodedAnswer(events)
  return { ...answer, sse: stream }
}
