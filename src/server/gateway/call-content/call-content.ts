import type { WholeEchoes } from '../../platform/echoes.ts'
import { jsonOr } from '../../platform/json.ts'
import { redacted } from '../body-log/redact.ts'
import { createFrameReader } from '../bytes/frame-reader.ts'
import type { UpstreamEvent } from '../core/answer-event.ts'
import type { Call } from '../core/call.ts'
import type { CanonicalRequest, Codec, CodecContext } from '../core/codec.ts'
import { parsedObject } from '../core/request-checks.ts'
import { demoDeployment } from '../demo/demo-adapter.ts'
import { clients, codecs } from '../format-adapters.ts'
import { answerOf, boundedMessages, messagesOf, systemOf } from './message-parts.ts'

/** What a model call contained, as JSON of the OpenTelemetry conventions. Redacted and shortened. */
export interface CallContent {
  readonly system: string | undefined
  readonly input: string | undefined
  readonly output: string | undefined
}

/** Formats of clients that are also formats of upstreams, so that a codec reads their answers. */
const readers: Partial<Record<Call['kind'], { readonly client: keyof typeof clients; readonly codec: Codec }>> = {
  messages: { client: 'messages', codec: codecs['anthropic-messages'] },
  chat: { client: 'chat', codec: codecs['openai-chat'] },
  responses: { client: 'responses', codec: codecs['openai-responses'] },
  gemini: { client: 'gemini', codec: codecs.gemini },
}

/** True for calls whose content can be read. */
export const hasContent = ({ kind }: Pick<Call, 'kind'>): boolean => readers[kind] !== undefined

/** Longer requests are not read. */
const maxRequestBytes = 1024 * 1024
/** Of each of the three texts, in characters. */
const maxContent = 32_000

/** Beginning of the answer to a client. */
interface RecordedAnswer {
  readonly content_type: string | null
  readonly body: Buffer | null
}

/** Reads the content of a call. What is not valid in the format of the call is left out. */
export function contentOf(call: Call, answer: RecordedAnswer, echoes: WholeEchoes): CallContent {
  const request = requestOf(call) ?? {}
  const said = answerOf(eventsOf(call, answer))
  const shown = (text: string | undefined) => text && redacted(text, echoes)
  const system = boundedMessages([{ role: 'system', parts: systemOf(request) }], maxContent)
  return {
    // Only the parts: the convention has no message around them.
    system: systemOf(request).length === 0 ? undefined : shown(partsIn(system)),
    input: shown(boundedMessages(messagesOf(request), maxContent)),
    output: said && shown(boundedMessages([said], maxContent)),
  }
}

function partsIn(messages: string | undefined): string | undefined {
  const [message] = jsonOr(messages ?? '', []) as readonly { readonly parts: object }[]
  return message && JSON.stringify(message.parts)
}

function requestOf({ kind, body, requestId }: Call): CanonicalRequest | undefined {
  const reader = readers[kind]
  if (!reader || body.length > maxRequestBytes) return undefined
  const target = { deployment: demoDeployment, upstreamModel: 'demo', protocol: 'demo' } as const
  try {
    const context = { target, stream: false, model: 'demo', requestId, createdAt: 0 }
    return clients[reader.client](parsedObject(body), context).body
  } catch {
    // The upstream decides about the request; here it only cannot be shown.
    return undefined
  }
}

/** Signatures have no meaning here. */
const context: CodecContext = {
  deployment: demoDeployment,
  upstreamModel: 'demo',
  stream: true,
  requestId: '',
  reasoning: { sign: () => '', stateOf: () => undefined, ownStateOf: () => undefined },
  callSignatures: { set: () => {}, get: () => undefined },
}

function eventsOf({ kind }: Call, { content_type: type, body }: RecordedAnswer): readonly UpstreamEvent[] {
  const codec = readers[kind]?.codec
  if (!codec || !body) return []
  if (!type?.startsWith('text/event-stream')) return codec.answer(jsonOr(body.toString(), undefined), context)
  const decoder = codec.decoder(context)
  const reader = createFrameReader('sse')
  const frames = [...reader.push(body).frames, ...reader.finish()]
  return [...frames.flatMap(frame => decoder.push(frame)), ...decoder.end()]
}
