import { encodedAnswer } from '../../../../../test/support/encoded-answer.ts'
import { plainContext, sentUpstream } from '../../../../../test/support/sent-upstream.ts'
import type { Json } from '../../../platform/json.ts'
import type { AnthropicRequest, CodecContext, UpstreamFrame } from '../../translated/codec.ts'
import type { ModelEvent } from '../../translated/model-event.ts'
import { openaiResponses } from './codec.ts'

/** A context whose seal is readable: `sealed:` and the state. */
export const contextOf = (changes: Partial<CodecContext> = {}): CodecContext => ({
  deployment: { id: 'd1', provider: 'openai', apiBase: 'https://upstream.test/v1' },
  upstreamModel: 'gpt-5.5',
  ...plainContext,
  ...changes,
})

/** What goes upstream for `request`, as it arrives there. */
export const sent = (request: AnthropicRequest, changes: Partial<CodecContext> = {}) =>
  sentUpstream(openaiResponses, request, contextOf(changes))

/** The items of input for `messages`. */
export const inputOf = (messages: readonly Json[], changes: Partial<CodecContext> = {}): readonly Json[] =>
  sent({ messages }, changes).body['input'] as readonly Json[]

/** An event of the upstream as a frame. */
export const frame = (body: Json): UpstreamFrame => ({ event: String(body['type']), data: JSON.stringify(body) })

/** What the decoder says of a whole stream. */
export function decoded(frames: readonly UpstreamFrame[]): readonly ModelEvent[] {
  const decoder = openaiResponses.decoder(contextOf())
  return [...frames.flatMap(one => [...decoder.push(one)]), ...decoder.end()]
}

/** What a client reads of `events`; the stream only with its end. */
export function read(events: readonly ModelEvent[]) {
  const { stream, hasEnded, ...answer } = encodedAnswer(events)
  return { ...answer, wire: hasEnded ? stream : undefined }
}
