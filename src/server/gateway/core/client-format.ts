import type { ErrorCode } from '../../../contract/error-codes.ts'
import type { AnswerEvent } from './answer-event.ts'
import type { Attempt, Call, Target, UpstreamError } from './call.ts'
import type { CanonicalRequest } from './codec.ts'
import type { Degradation, OwnNames } from './degradations.ts'

/** Context of a conversion. */
export interface ClientContext {
  readonly target: Target
  /** True when the client wants a stream. */
  readonly stream: boolean
  /** The model's name as the client sent it. */
  readonly model: string
  readonly requestId: string
  /** Unix seconds, for `created` in OpenAI's objects. */
  readonly createdAt: number
  readonly chain?: Call['chain']
}

/** Canonical request, and the writer of its answer. */
interface Conversion {
  readonly body: CanonicalRequest
  /** With the client's names of fields. */
  readonly degraded: readonly Degradation[]
  readonly ownNames: OwnNames
  readonly writer: AnswerWriter
}

/**
 * Converts a parsed request body of a client format to a canonical request. Throws `invalid_request` that names the
 * field for what has no equivalent and must not be dropped.
 */
export type ClientFormat = (request: Readonly<Record<string, unknown>>, context: ClientContext) => Conversion

/** Writes one answer in the client's format, event by event. */
export interface AnswerWriter {
  /** Returns the frames for `event`; empty when the format has none, or without streaming. */
  take(event: AnswerEvent): string
  /** Returns the whole answer after its successful end; undefined when the format cannot represent it. */
  whole(): object | undefined
  /** Writes a failure in the client's format. */
  readonly problem: ProblemWriter
}

/** Writes a failure of a model call in the client's format. */
export type ProblemWriter = (code: ErrorCode, message: string, reason?: UpstreamError['reason']) => object

/** Token counting of one client format. */
export interface CountFormat {
  /** Converts a request to count. */
  read(
    request: Readonly<Record<string, unknown>>,
    context: ClientContext,
  ): Pick<Conversion, 'body' | 'degraded' | 'ownNames'> & { readonly problem: ProblemWriter }
  write(inputTokens: number): object
}

/** Returns the context of a conversion for an attempt. */
export const clientContext = ({ call, parsed, target }: Attempt): ClientContext => ({
  target,
  stream: parsed.stream,
  model: parsed.model,
  requestId: call.requestId,
  createdAt: Math.floor(Date.now() / 1000),
  chain: call.chain,
})
