import type { ErrorCode } from '../../../contract/errors.ts'
import type { Parts } from '../bytes/body-edit.ts'
import type { Ask, Attempt, Call, Outcome, Target } from '../core/call.ts'
import type { CodecContext } from '../core/codec.ts'
import type { Degradation } from '../core/degradations.ts'
import type { TokenCounts } from '../tokens/token-counts.ts'

/** What goes to an upstream that speaks the client's own format. */
export interface WireRequest {
  /** Behind the deployment's base address, with its query. */
  readonly path: string
  /** Besides the credential. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Parts
  readonly degraded: readonly Degradation[]
}

/** What an upstream said when it failed. */
export interface UpstreamFault {
  readonly message: string
  /** Its own word for the kind of error, such as `context_length_exceeded`. */
  readonly word?: string | undefined
}

/** Reads along with a stream without touching it; tells what it has said so far. */
export interface UsageTap {
  /** Looks at the next bytes, which may be cut anywhere: how many of them belong to frames that are whole now. Never throws. */
  push(chunk: Buffer): number
  /** The upstream has ended its stream: a last frame without its empty line counts if it is whole. */
  finish(): void
  /** With a guess of the output, marked as such, until the stream has stated it. */
  readonly usage: TokenCounts
  readonly stopReason: string | undefined
  /** True when a ping may go out: clients of some formats want another event first. */
  readonly takesPings: boolean
  /** True from the first frame on that shows an answer coming: before it an error can still be tried elsewhere. */
  readonly isUnderWay: boolean
  readonly hasContent: boolean
  /** True once something has come that no refusal to answer holds. */
  readonly isAnswering: boolean
  /** True once the model has declined to answer. */
  readonly hasDeclined: boolean
  /** How the stream ended: by the event that says so, by an error, or not yet. */
  readonly end: 'stop' | 'error' | undefined
  /** Of the error that ended the stream. */
  readonly fault: UpstreamFault | undefined
  /** How many frames with data have come. */
  readonly frames: number
}

/** A failure as a client is told of it. */
export interface WireFailure {
  readonly code: ErrorCode
  readonly message: string
  readonly requestId: string
}

/** What a request to an upstream is made of. */
export interface WireCall {
  readonly call: Pick<Call, 'kind' | 'body' | 'headers' | 'query'>
  readonly ask: Ask
  readonly target: Omit<Target, 'deployment'> & {
    readonly deployment: CodecContext['deployment']
  }
}

/** What the raw lane must know of a format whose bytes it passes on as they are. */
export interface Wire {
  request(attempt: WireCall): WireRequest
  createTap(): UsageTap
  /** What a whole answer states. Never throws. */
  readAnswer(body: Buffer): Pick<Outcome, 'usage' | 'stopReason'>
  /** A guess at the input tokens of a request, for upstreams that do not state them; absent where they always do. */
  estimateInput?(body: Buffer): number
  /**
   * True for a model whose thinking is billed as output but not sent: a stream that states no usage is then booked with
   * what may have been thought before its first content.
   */
  hidesThinking?(target: Target): boolean
  /** What covers a silent upstream, between frames only. */
  readonly ping: Buffer
  /** The frame or frames that tell a client that its stream broke, after `frames` others. Nothing follows. */
  failure(failure: WireFailure, frames: number): Buffer
  /** True for a whole answer in which the model only declines. */
  declines(body: Buffer): boolean
  /** The body of an answer that is an error. */
  errorBody(failure: WireFailure): Buffer
  /** An upstream's error body in the client's format; absent where all upstreams speak it. */
  translateError?(body: Buffer, failure: { readonly status: number; readonly requestId: string }): Buffer
  /** A count of tokens in the client's format; absent where all upstreams speak it. */
  translateCount?(body: Buffer): Buffer
  /** The content type of a stream where it is not that of server-sent events. */
  readonly streamType?: string
  /** True: the client reads the upstream's own framing, and gets it under its own type. */
  readonly keepsFraming?: true
  /** Names of the upstream's headers that this format's clients read, besides those of every answer. */
  readonly relays?: RegExp
  /**
   * Takes the client's frames out of the upstream's own framing; absent where the bytes are the frames already. Throws
   * for bytes that are no such framing.
   */
  createUnwrap?(): (chunk: Buffer) => readonly Buffer[]
}

type Counts = Pick<Outcome, 'usage' | 'stopReason'>

/** What to book of an answer: where the upstream stated nothing, a guess at the input too. */
export function counted(wire: Wire, { call }: Attempt, { usage, stopReason }: Counts): Counts {
  const isUnstated = usage.estimated && usage.input_tokens === 0 && usage.cache_read_tokens === 0
  if (!isUnstated || !wire.estimateInput) return { usage, stopReason }
  return { usage: { ...usage, input_tokens: wire.estimateInput(call.body) }, stopReason }
}
