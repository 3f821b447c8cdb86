import type { Attempt, Refusal } from '../call.ts'
import type { Degradation } from '../translated/degradations.ts'
import { type AnswerHead, upstreamFault } from '../upstream/exchange.ts'
import { scrubbed, scrubbedText } from '../upstream/scrub.ts'
import { reasonOfText } from './fault-reason.ts'
import type { UpstreamFault, Wire } from './wire.ts'

interface Options {
  readonly wire: Wire
  readonly attempt: Attempt
  /** What the request lost. */
  readonly degraded: readonly Degradation[]
}

/** What becomes of answers that the client must not get as answers: all can be tried elsewhere. */
export interface RawRefusals {
  /** The upstream's own refusal, its body as it came. */
  passedOn(head: AnswerHead, body: Buffer): Refusal
  /** A status of success, and then an error before any content. */
  failedEarly(head: AnswerHead, fault: UpstreamFault | undefined): Refusal
  /** A status of success, and then something of no use: the rest of a sentence about the upstream. */
  unreadable(head: AnswerHead, what: string): Refusal
}

/** Of a longer body only the start is searched for what another model could do. */
const searchedBytes = 16 * 1024

/** Builds the refusals of one attempt, in the format of its call and without secrets or hosts. */
export function createRawRefusals({ wire, attempt, degraded }: Options): RawRefusals {
  const { requestId } = attempt.call
  const { deployment } = attempt.target
  const lost = degraded.length > 0 && { degraded }

  const ours = (head: AnswerHead, code: 'overloaded' | 'upstream_unreachable', message: string) => ({
    outcome: 'refused' as const,
    headers: { ...head.headers, 'content-type': 'application/json' },
    body: wire.errorBody({ code, message, requestId }),
    ...lost,
  })

  return {
    passedOn(head, received) {
      const body = scrubbed(received, deployment)
      const isJudged = head.status === 400 || head.status === 413
      return {
        outcome: 'refused',
        status: head.status,
        headers: wire.translateError ? { ...head.headers, 'content-type': 'application/json' } : head.headers,
        body: wire.translateError?.(body, { status: head.status, requestId }) ?? body,
        ...(isJudged && reasonIn(body.toString('utf8', 0, searchedBytes))),
        ...lost,
      }
    },
    failedEarly(head, fault) {
      const said = fault?.message || upstreamFault(attempt, 'failed before its answer began').message
      const message = scrubbedText(said, deployment)
      return { ...ours(head, 'overloaded', message), status: 529, ...reasonIn(`${fault?.word} ${message}`) }
    },
    unreadable: (head, what) => ({
      ...ours(head, 'upstream_unreachable', upstreamFault(attempt, what).message),
      status: 502,
    }),
  }
}

function reasonIn(text: string): Pick<Refusal, 'reason'> {
  const reason = reasonOfText(text)
  return reason === undefined ? {} : { reason }
}
