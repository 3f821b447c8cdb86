import { encodedAnswer } from '../../../../../test/support/encoded-answer.ts'
import type { Json } from '../../../platform/json.ts'
import type { AnthropicRequest, CodecContext, UpstreamFrame } from '../../translated/codec.ts'
import type { ModelEvent } from '../../translated/model-event.ts'
import { openaiResponses } from './codec.ts'

/** A context whose seal is readable: `sealed:` and the state. */
export const contextOf = (changes: Partial<CodecContext> = {}): CodecContext => ({
  deployment: { id: 'd1', provider: 'openai', protocol: 'openai-responses', apiBase: 'https://upstream.test/v1' },
  upstreamModel: 'gpt-5.5',
  stream: true,
  requestId: 'req_1',
  reasoning: {
    seal: state => `sealed:${state}`,
    open: signature => (signature.startsWith('sealed:') ? signature.slice(7) : undefined),
  },
  callSignatures: { remember: () => undefined, recall: () => undefined },
  ...changes,
})

/** What goes upstream for `request`, as it arrives there. */
export function sent(request: AnthropicRequest, changes: Partial<CodecContext> = {}) {
  const base = { model: 'alias', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] }
  const { path, body, degraded } = openaiResponses.request({ ...base, ...request }, contextOf(changes))
  const text = JSON.stringify(body)
  return {
    path,
    text,
    body: JSON.parse(text) as Json,
    degraded: degraded.map(({ path: where, action }) => `${where}=${action}`),
  }
}

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
