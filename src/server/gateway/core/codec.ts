import type { ErrorCode } from '../../../contract/error-codes.ts'
import type { Deployment } from '../../config/deployments.ts'
import type { Json } from '../../platform/json.ts'
import type { Parts } from '../bytes/body-edit.ts'
import type { UpstreamEvent } from './answer-event.ts'
import type { Call } from './call.ts'
import type { Degradation } from './degradations.ts'

/**
 * Canonical request: every client format is converted to it, and every upstream format from it. A parsed request in
 * Anthropic's vocabulary. Only model, messages, max_tokens and stream are checked; all other fields are open.
 */
export type CanonicalRequest = Json

/** Context of a codec for one call. */
export interface CodecContext {
  readonly deployment: Pick<
    Deployment,
    'id' | 'provider' | 'google' | 'aws' | 'apiBase' | 'deny' | 'baseModel' | 'capabilities'
  >
  /** The model's name at the upstream. */
  readonly upstreamModel: string
  /** True for a streamed call. */
  readonly stream: boolean
  readonly requestId: string
  readonly reasoning: ReasoningSigner
  readonly callSignatures: CallSignatures
  /** Headers of the client's request. Some formats forward a few of them. */
  readonly clientHeaders?: Call['headers']
}

/** Signs other providers' reasoning state, for Anthropic's `thinking.signature`. Source: Gateway, section 2.3. */
export interface ReasoningSigner {
  /** Returns a signature that contains `state`, bound to this context's provider and model. */
  sign(state: string): string
  /** Returns the state in a signature for this provider; undefined for any other, which must be dropped. */
  stateOf(signature: string): string | undefined
  /** As `stateOf`, but only for a signature made for the same model. */
  ownStateOf(signature: string): string | undefined
}

/** Gemini's signatures of tool calls without thinking, by tool_use id. Bounded; the least recently used are evicted. */
export interface CallSignatures {
  set(toolUseId: string, signature: string): void
  get(toolUseId: string): string | undefined
}

/** Request to an upstream. */
export interface UpstreamRequest<Body = Json> {
  /** Path relative to the deployment's base URL, with its query: `/chat/completions`. */
  readonly path: string
  /** Headers besides content type and credential. */
  readonly headers?: Readonly<Record<string, string>>
  /** An object is sent as JSON. Equal requests give equal text, for the upstream's prompt cache. */
  readonly body: Body
  readonly degraded: readonly Degradation[]
}

/** One event of an upstream's stream. `event` is the SSE name, or AWS's `:event-type` or `:exception-type`. */
export interface UpstreamFrame {
  readonly event: string | undefined
  readonly data: string
}

/** Reads the stream of one answer. Never throws for what an upstream sends: invalid data becomes an `error` event. */
export interface StreamDecoder {
  push(frame: UpstreamFrame): readonly UpstreamEvent[]
  /**
   * Ends the stream after the connection closed without an error. Returns the remaining events, with `message_stop`
   * only when the upstream marked the answer as complete. Without it, the client gets an error for a truncated stream.
   */
  end(): readonly UpstreamEvent[]
}

/** An upstream's error, as codes of the gateway. */
export interface UpstreamProblem {
  readonly code: ErrorCode
  /** Status for the client, where it differs from that of the code. */
  readonly status?: number
  /** The upstream's message as plain text, without its JSON envelope. */
  readonly message: string
  readonly reason?: 'context_window' | 'policy'
}

/** One upstream protocol. Pure functions: the translation sends and receives. */
export interface Codec {
  readonly framing: 'sse' | 'aws-event-stream'
  /** Writes a request. Throws `invalid_request` with the field that has no equivalent and must not be dropped. */
  request(request: CanonicalRequest, context: CodecContext): UpstreamRequest<Json | Parts>
  decoder(context: CodecContext): StreamDecoder
  /** Reads a whole answer, the parsed body of a call without streaming. The events end with message_stop or error. */
  answer(body: unknown, context: CodecContext): readonly UpstreamEvent[]
  /** Reads an error. `body` is the parsed JSON, or text that is not JSON; `status` is 400 or above. */
  problem(status: number, body: unknown): UpstreamProblem
  /** The provider's endpoint for counting input tokens, where it has one. */
  readonly counting?: {
    request(request: CanonicalRequest, context: CodecContext): UpstreamRequest<Json | Parts>
    /** Returns the count; undefined when the body has none. */
    answer(body: unknown): number | undefined
  }
}
