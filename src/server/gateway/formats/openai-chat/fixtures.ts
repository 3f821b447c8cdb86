import { encodedAnswer } from '../../../../../test/support/encoded-answer.ts'
import { plainContext, sentUpstream } from '../../../../../test/support/sent-upstream.ts'
import { type Json, listOf, recordOf } from '../../../platform/json.ts'
import type { UpstreamEvent } from '../../core/answer-event.ts'
import type { CanonicalRequest, CodecContext, UpstreamFrame } from '../../core/codec.ts'
import { openaiChat } from './codec.ts'

/** A context of a compatible server, whose seal is readable. */
export const contextOf = (changes: Partial<CodecContext> = {}): CodecContext => ({
  deployment: deploymentOf('openai-compatible'),
  upstreamModel: 'some-model',
  ...plainContext,
  ...changes,
})

/** A deployment of `provider`. */
export const deploymentOf = (provider: string): CodecContext['deployment'] => ({
  id: 'd1',
  provider,
  apiBase: 'https://upstream.test/v1',
})

/** A context of OpenAI itself. */
export const openAi = (upstreamModel: string): Partial<CodecContext> => ({
  upstreamModel,
  deployment: deploymentOf('openai'),
})

/** What goes upstream for `request`, as it arrives there. */
export const sent = (request: CanonicalRequest, changes: Partial<CodecContext> = {}) =>
  sentUpstream(openaiChat, request, contextOf(changes))

/** The upstream's messages for `messages`, and what they lost. */
export function conversation(messages: readonly Json[], changes: Partial<CodecContext> = {}) {
  const { body, degraded } = sent({ messages }, changes)
  return { messages: listOf(body['messages']).map(recordOf), degraded }
}

/** A chunk as a frame. */
export const frame = (body: unknown): UpstreamFrame => ({ event: undefined, data: JSON.stringify(body) })

/** A chunk of the first choice. */
export const chunk = (delta: Json, finish: string | null = null): UpstreamFrame =>
  frame({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    model: 'some-model-2026',
    choices: [{ index: 0, delta, finish_reason: finish }],
  })

/** A chunk with a part of a tool call. */
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

/** What the decoder says of a whole stream. */
export function decoded(frames: readonly UpstreamFrame[]): readonly UpstreamEvent[] {
  const decoder = openaiChat.decoder(contextOf())
  return [...frames.flatMap(one => [...decoder.push(one)]), ...decoder.end()]
}

/** What a client reads of `events`. */
export function read(events: readonly UpstreamEvent[]) {
  const { stream, ...answer } = encodedAnswer(events)
  return { ...answer, wire: stream }
}
