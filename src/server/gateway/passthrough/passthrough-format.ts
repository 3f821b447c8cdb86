import type { ErrorCode } from '../../../contract/error-codes.ts'
import type { Parts } from '../bytes/body-edit.ts'
import type { Attempt, Call, Outcome, ParsedRequest, Target } from '../core/call.ts'
import type { CodecContext } from '../core/codec.ts'
import type { Degradation } from '../core/degradations.ts'
import type { TokenCounts } from '../tokens/token-counts.ts'

/** Request to an upstream that speaks the client's own format. */
export interface PassthroughRequest {
  /** Path after the deployment's base address, with the query. */
  readonly path: string
  /** Without the credential. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Parts
  readonly degraded: readonly Degradation[]
}

/** Error that an upstream reported. */
export interface UpstreamFault {
  readonly message: string
  /** The upstream's own error code or type, such as `context_length_exceeded`. */
  readonly word?: string | undefined
}

/** Reads usage and state from a stream without changing it. */
export interface UsageTap {
  /** Reads the next bytes, split at any place. Returns how many of them belong to complete frames. Never throws. */
  push(chunk: Buffer): number
  /** Handles the end of the upstream's stream: a complete last frame counts even without its empty line. */
  finish(): void
  /** Holds an estimate of the output, marked as estimated, until the stream reports it. */
  readonly usage: TokenCounts
  readonly stopReason: string | undefined
  /** True when a ping may be sent: some formats require another event first. */
  readonly takesPings: boolean
  /** True from the first frame with content: before it an error can still be retried elsewhere. */
  readonly isUnderWay: boolean
  readonly hasContent: boolean
  /** True once the stream has sent content that is not part of a refusal to answer. */
  readonly isAnswering: boolean
  /** True once the model has declined to answer. */
  readonly hasDeclined: boolean
  /** How the stream ended: with its end event, with an error, or not yet. */
  readonly end: 'stop' | 'error' | undefined
  /** The error that ended the stream. */
  readonly fault: UpstreamFault | undefined
  /** Number of frames with data so far. */
  readonly frames: number
}

/** Error as a client receives it. */
export interface ClientError {
  readonly code: ErrorCode
  readonly message: string
  readonly requestId: string
}

/** What a request to an upstream is built from. */
export interface PassthroughCall {
  readonly call: Pick<Call, 'kind' | 'body' | 'headers' | 'query'>
  readonly parsed: ParsedRequest
  readonly target: Omit<Target, 'deployment'> & {
    readonly deployment: CodecContext['deployment']
  }
}

/** Format adapter of passthrough: what it must know of a format whose bytes it forwards unchanged. */
export interface PassthroughFormat {
  request(attempt: PassthroughCall): PassthroughRequest
  createTap(): UsageTap
  /** Reads usage and stop reason from a whole response. Never throws. */
  readAnswer(body: Buffer): Pick<Outcome, 'usage' | 'stopReason'>
  /** Estimates the input tokens of a request; absent where all upstreams report them. */
  estimateInput?(body: Buffer): number
  /**
   * Returns true for a model whose thinking is billed as output but not sent. A stream without usage is then booked
   * with an estimate of the thinking before its first content.
   */
  hidesThinking?(target: Target): boolean
  /** Bytes sent while the upstream is silent, between frames only. */
  readonly ping: Buffer
  /** Returns the frames that report an interrupted stream, after `frames` others. They are the last ones. */
  failure(failure: ClientError, frames: number): Buffer
  /** Returns the error in a whole response that otherwise looks normal; absent where there is no such response. */
  faultIn?(body: Buffer): UpstreamFault | undefined
  /** Reports whether the model only declines in a whole response. */
  declines(body: Buffer): boolean
  /** Returns the body of an error response. */
  errorBody(failure: ClientError): Buffer
  /** Converts an upstream's error body into the client's format; absent where all upstreams use it. */
  translateError?(body: Buffer, failure: { readonly status: number; readonly requestId: string }): Buffer
  /** Repairs an answer that differs from what the request wants; absent where all upstreams answer as requested. */
  translateAnswer?(call: Pick<Call, 'body'>, answer: Buffer): Buffer
  /** Converts a token count into the client's format; absent where all upstreams use it. */
  translateCount?(body: Buffer): Buffer
  /** Content type of a stream, where it is not server-sent events. */
  readonly streamType?: string
  /** True: the client reads the upstream's own framing and content type. */
  readonly keepsFraming?: true
  /** Names of upstream headers that are relayed for this format, besides those of every response. */
  readonly relays?: RegExp
  /**
   * Returns a function that unwraps the client's frames from the upstream's own framing; absent where the bytes are the
   * frames. The function throws for bytes with wrong framing.
   */
  createUnwrap?(): (chunk: Buffer) => readonly Buffer[]
}

type Counts = Pick<Outcome, 'usage' | 'stopReason'>

/** Returns the counts to book: where the upstream reported none, the input is estimated too. */
export function counted(format: PassthroughFormat, { call }: Attempt, { usage, stopReason }: Counts): Counts {
  const isUnstated = usage.estimated && usage.input_tokens === 0 && usage.cache_read_tokens === 0
  if (!isUnstated || !format.estimateInput) return { usage, stopReason }
  return { usage: { ...usage, input_tokens: format.estimateInput(call.files?.body ?? call.body) }, stopReason }
}
