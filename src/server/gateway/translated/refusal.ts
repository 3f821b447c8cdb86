import { anthropicError, type ErrorCode } from '../../../contract/errors.ts'
import type { Refusal } from '../call.ts'
import type { AnswerHead } from '../upstream/exchange.ts'
import type { Degradation } from './degradations.ts'

/** The one error body of the translated lane: Anthropic's envelope. */
export const problemBody = (code: ErrorCode, message: string, requestId: string): Buffer =>
  Buffer.from(JSON.stringify(anthropicError(code, message, requestId)))

interface Parts {
  readonly status: number
  readonly head: AnswerHead
  readonly body: Buffer
  readonly degraded: readonly Degradation[]
  readonly reason?: Refusal['reason']
}

/** A refusal with a body of ours in place of the upstream's. */
export const refusalOf = ({ status, head, body, degraded, reason }: Parts): Refusal => ({
  outcome: 'refused',
  status,
  headers: { ...head.headers, 'content-type': 'application/json' },
  body,
  degraded,
  ...(reason !== undefined && { reason }),
})
