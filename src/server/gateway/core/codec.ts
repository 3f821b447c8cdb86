import type { ErrorCode } from '../../../contract/errors.ts'
import type { Deployment } from '../../config/config.ts'
import type { Json } from '../../platform/json.ts'
import type { Parts } from '../bytes/body-edit.ts'
import type { UpstreamEvent } from './answer-event.ts'
import type { Call } from './call.ts'
import type { Degradation } from './degradations.ts'

/**
 * What every client format is read into and every upstream format is written from: a request in Anthropic's vocabulary, as
 * an object. Only model, messages, max_tokens and stream were checked: all else is open.
 */
export type CanonicalRequest = Json

/** What a codec may know besides the bytes. */
export interface CodecContext {
  readonly deployment: Pick<
    Deployment,
    'id' | 'provider' | 'google' | 'aws' | 'apiBase' | 'deny' | 'baseModel' | 'capabilities'
  >
  /** The model's name at the upstream. */
  readonly upstreamModel: string
  /** True when the upstream is asked to stream. */
  readonly stream: boolean
  readonly requestId: string
  readonly reasoning: ReasoningSeal
  readonly callSignatures: CallSignatures
  /** The headers of the client's request, of which some formats pass on a few. */
  readonly clientHeaders?: Call['headers']
}

/** Carries another provider's reasoning state through Anthropic's `thinking.signature`. Source: Gateway, section 2.3. */
export interface ReasoningSeal {
  /** A signature that holds `state`, bound to this context's provider and model. */
  seal(state: string): string
  /** The state inside a signature of ours for this provider; undefined for any other, which must be dropped and listed. */
  open(signature: string): string | undefined
  /** The same, but only for what this very model gave: it takes that back, whatever its name tells. */
  openOwn(signature: string): string | undefined
}

/** Gemini's signatures on calls without thinking, by tool_use id. Bounded: the oldest go first. */
export interface CallSignatures {
  remember(toolUseId: string, signature: string): void
  recall(toolUseId: string): string | undefined
}

/** What goes to the upstream. */
export interface UpstreamRequest<Body = Json> {
  /** Behind the deployment's base address, with its query: `/chat/completions`. */
  readonly path: string
  /** Besides content type and credential. */
  readonly headers?: Readonly<Record<string, string>>
  /** An object becomes JSON. Equal requests give equal text: keys are always set in the same order. */
  readonly body: Body
  readonly degraded: readonly Degradation[]
}

/** One event of an upstream's stream. `event` is the SSE name or AWS's `:event-type`; with `:exception-type` it is that. */
export interface UpstreamFrame {
  readonly event: string | undefined
  readonly data: string
}

/** Reads one answer's stream. Never throws for what an upstream may send: nonsense becomes an `error` event. */
export interface StreamDecoder {
  push(frame: UpstreamFrame): readonly UpstreamEvent[]
  /**
   * The connection ended without an error. What is still known goes out; `message_stop` only when the upstream has said
   * that the answer is complete, in whatever way its protocol does. Without one the client is told of a truncated stream.
   */
  end(): readonly UpstreamEvent[]
}

/** An upstream's refusal in our terms. */
export interface UpstreamProblem {
  readonly code: ErrorCode
  /** The status that the client gets, where it is not that of the code. */
  readonly status?: number
  /** The upstream's own words, as plain text: no JSON inside a string. */
  readonly message: string
  readonly reason?: 'context_window' | 'policy'
}

/** One upstream protocol. All pure: the translated lane does the talking. */
export interface Codec {
  readonly framing: 'sse' | 'aws-event-stream'
  /** Throws AppError `invalid_request` that names the field for what has no equivalent and must not be dropped. */
  request(request: CanonicalRequest, context: CodecContext): UpstreamRequest<Json | Parts>
  decoder(context: CodecContext): StreamDecoder
  /** The events of a whole answer: the parsed body of a call that was not streamed. Ends with message_stop or error. */
  answer(body: unknown, context: CodecContext): readonly UpstreamEvent[]
  /** `body` is the parsed JSON, or the text when it is none. The status is the upstream's own, 400 or above. */
  problem(status: number, body: unknown): UpstreamProblem
  /** The provider's own counting of input tokens, where it has one. */
  readonly counting?: {
    request(request: CanonicalRequest, context: CodecContext): UpstreamRequest<Json | Parts>
    /** Undefined when the body holds no count. */
    answer(body: unknown): number | undefined
  }
}
