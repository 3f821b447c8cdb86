import { codeOfStatus, type ErrorCode } from '../../../contract/errors.ts'
import { jsonOr, recordOf, textIn } from '../../platform/json.ts'
import type { AnswerEvent } from './answer-event.ts'
import type { Refusal, Target } from './call.ts'
import type { CanonicalRequest } from './codec.ts'
import type { Degradation } from './degradations.ts'

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
}

/** A request in Anthropic's format, and what turns its answer back. */
interface Conversion {
  readonly body: CanonicalRequest
  readonly degraded: readonly Degradation[]
  readonly writer: AnswerWriter
}

/**
 * Serves clients of one format by way of Anthropic's. Throws `invalid_request` that names the field for what has no
 * equivalent and must not be dropped.
 */
export type ClientFormat = (request: Readonly<Record<string, unknown>>, context: ClientContext) => Conversion

/** Says an answer in a client's own format, event by event. One answer each. */
export interface AnswerWriter {
  /** The frames that go out for `event`; empty when there is nothing to say, or no stream is wanted. */
  take(event: AnswerEvent): string
  /** The whole answer, once it has ended without an error. */
  whole(): object
  /** A failure in the client's own format. */
  readonly problem: ProblemWriter
}

/** Says a failure of a model call in a client's own format. */
export type ProblemWriter = (code: ErrorCode, message: string, reason?: Refusal['reason']) => object

/** The same refusal in a client's format. Anthropic's envelope is taken apart, and any other that has a text. */
export function clientRefusal(refusal: Refusal, problem: ProblemWriter): Refusal {
  const { status, headers, body, reason } = refusal
  const told = problem(codeOf(status), messageIn(body) ?? `the upstream answered with status ${status}`, reason)
  return {
    ...refusal,
    headers: { ...headers, 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(told)),
  }
}

function codeOf(status: number): ErrorCode {
  const code = codeOfStatus(status)
  return code === 'internal' && status < 500 ? 'invalid_request' : code
}

function messageIn(body: Buffer): string | undefined {
  const text = body.toString().trim()
  const value = jsonOr(text, undefined)
  if (value === undefined) return text.slice(0, 1_000) || undefined
  const { error, message, detail } = recordOf(value)
  return textIn(recordOf(error)['message']) ?? textIn(error) ?? textIn(message) ?? textIn(detail)
}
