import type { Attempt, Refusal } from '../core/call.ts'
import type { Degradation } from '../core/degradations.ts'
import type { TokenCounts } from '../tokens/token-counts.ts'
import { type AnswerHead, upstreamFault } from '../upstream/exchange.ts'
import { scrubbed, scrubbedText } from '../upstream/scrub.ts'
import { reasonOfText } from './answers.ts'
import type { UpstreamFault, Wire } from './wire.ts'

interface Options {
  readonly wire: Wire
  readonly attempt: Attempt
  /** What the request lost. */
  readonly degraded: readonly Degradation[]
}

/** Of a longer body only the start is searched for what another model could do. */
const searchedBytes = 16 * 1024

/**
 * What becomes of answers that the client must not get as answers, in the format of the attempt's call and without secrets
 * or hosts: all can be tried elsewhere.
 */
export class RawRefusals {
  readonly #options: Options

  constructor(options: Options) {
    this.#options = options
  }

  /** The upstream's own refusal, its body as it came. */
  passedOn(head: AnswerHead, received: Buffer): Refusal {
    const { wire, attempt } = this.#options
    const { requestId } = attempt.call
    const body = scrubbed(received, attempt.target.deployment)
    const isJudged = head.status === 400 || head.status === 413
    return {
      outcome: 'refused',
      status: head.status,
      headers: wire.translateError ? { ...head.headers, 'content-type': 'application/json' } : head.headers,
      body: wire.translateError?.(body, { status: head.status, requestId }) ?? body,
      ...(isJudged && reasonIn(body.toString('utf8', 0, searchedBytes))),
      ...this.#lost,
    }
  }

  /** A status of success, and then an error before any content. */
  failedEarly(head: AnswerHead, fault: UpstreamFault | undefined): Refusal {
    const { attempt } = this.#options
    const said = fault?.message || upstreamFault(attempt, 'failed before its answer began').message
    const message = scrubbedText(said, attempt.target.deployment)
    return { ...this.#ours(head, 'overloaded', message), status: 529, ...reasonIn(`${fault?.word} ${message}`) }
  }

  /** A status of success, and then no more than that the model declines. */
  declined(head: AnswerHead, usage: TokenCounts): Refusal {
    const refusal = this.#ours(head, 'invalid_request', 'the model declined to answer')
    return { ...refusal, status: 400, reason: 'policy', usage }
  }

  /** A status of success, and then something of no use: the rest of a sentence about the upstream. */
  unreadable(head: AnswerHead, what: string): Refusal {
    const { message } = upstreamFault(this.#options.attempt, what)
    return { ...this.#ours(head, 'upstream_unreachable', message), status: 502 }
  }

  #ours(head: AnswerHead, code: 'overloaded' | 'upstream_unreachable' | 'invalid_request', message: string) {
    const { wire, attempt } = this.#options
    return {
      outcome: 'refused' as const,
      headers: { ...head.headers, 'content-type': 'application/json' },
      body: wire.errorBody({ code, message, requestId: attempt.call.requestId }),
      ...this.#lost,
    }
  }

  get #lost() {
    const { degraded } = this.#options
    return degraded.length > 0 && { degraded }
  }
}

function reasonIn(text: string): Pick<Refusal, 'reason'> {
  const reason = reasonOfText(text)
  return reason === undefined ? {} : { reason }
}
