import type { ErrorCode } from '../../../contract/errors.ts'
import type { AnswerEvent } from './answer-event.ts'
import type { Attempt, Call, Refusal, Target } from './call.ts'
import type { CanonicalRequest } from './codec.ts'
import type { Degradation, OwnNames } from './degradations.ts'

/** What a conversion may know besides the request. */
export interface ClientContext {
  readonly target: Target
  /** True when the client wants a stream. */
  readonly stream: boolean
  /** The model's name as the client spelt it. */
  readonly model: string
  readonly requestId: string
  /** Seconds since 1970, as OpenAI's objects state when they were made. */
  readonly createdAt: number
  readonly chain?: Call['chain']
}

/** A canonical request, and what writes its answer. */
interface Conversion {
  readonly body: CanonicalRequest
  /** In the client's own names. */
  readonly degraded: readonly Degradation[]
  readonly ownNames: OwnNames
  readonly writer: AnswerWriter
}

/**
 * A format that clients call in: reads a request body that is parsed already. Throws `invalid_request` that names the field
 * for what has no equivalent and must not be dropped.
 */
export type ClientFormat = (request: Readonly<Record<string, unknown>>, context: ClientContext) => Conversion

/** Writes an answer in a client's own format, event by event. One answer each. */
export interface AnswerWriter {
  /** The frames that go out for `event`; empty when there is nothing to say, or no stream is wanted. */
  take(event: AnswerEvent): string
  /** The whole answer, once it has ended without an error; undefined for one that has no form in the client's format. */
  whole(): object | undefined
  /** A failure in the client's own format. */
  readonly problem: ProblemWriter
}

/** Writes a failure of a model call in a client's own format. */
export type ProblemWriter = (code: ErrorCode, message: string, reason?: Refusal['reason']) => object

/** How clients of one format count tokens. */
export interface CountFormat {
  /** Reads what is to be counted. */
  read(
    request: Readonly<Record<string, unknown>>,
    context: ClientContext,
  ): Pick<Conversion, 'body' | 'degraded' | 'ownNames'> & { readonly problem: ProblemWriter }
  write(inputTokens: number): object
}

/** What a client format may know of an attempt. */
export const clientContext = ({ call, ask, target }: Attempt): ClientContext => ({
  target,
  stream: ask.stream,
  model: ask.model,
  requestId: call.requestId,
  createdAt: Math.floor(Date.now() / 1000),
  chain: call.chain,
})
