import type { ErrorCode } from '../../../contract/errors.ts'
import type { Attempt, Outcome } from '../call.ts'
import type { Degradation } from '../translated/degradations.ts'
import type { UsageTap } from './usage-tap.ts'

/** What goes to an upstream that speaks the client's own format. */
export interface WireRequest {
  /** Behind the deployment's base address, with its query. */
  readonly path: string
  /** Besides content type and credential. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly degraded: readonly Degradation[]
}

/** What the raw lane must know of a format whose bytes it passes on as they are. */
export interface Wire {
  request(attempt: Attempt): WireRequest
  /** Reads along with a stream; never delays or breaks it. */
  createTap(): UsageTap
  /** What a whole answer states. Never throws. */
  readAnswer(body: Buffer): Pick<Outcome, 'usage' | 'stopReason'>
  /** What covers a silent upstream, between frames only. */
  readonly ping: Buffer
  /** The frame or frames that tell a client that its stream broke. Nothing follows. */
  failure(error: { readonly code: ErrorCode; readonly message: string; readonly requestId: string }): Buffer
  /** Takes the client's frames out of the upstream's own framing; absent where the bytes are the frames already. */
  createUnwrap?(): (chunk: Buffer) => readonly Buffer[]
}
