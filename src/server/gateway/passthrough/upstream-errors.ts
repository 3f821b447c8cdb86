import type { Attempt, UpstreamError } from '../core/call.ts'
import type { Degradation } from '../core/degradations.ts'
import type { TokenCounts } from '../tokens/token-counts.ts'
import { type AnswerHead, upstreamFault } from '../upstream/exchange.ts'
import { scrubbed, scrubbedText } from '../upstream/scrub.ts'
import { reasonOfError, reasonOfText } from './answers.ts'
import type { PassthroughFormat, UpstreamFault } from './passthrough-format.ts'

interface Options {
  readonly format: PassthroughFormat
  readonly attempt: Attempt
  /** What was removed from the request. */
  readonly degraded: readonly Degradation[]
}

/** How many bytes of an error body are searched for a reason to try another model. */
const searchedBytes = 16 * 1024

/**
 * Turns unusable responses of an upstream into upstream errors in the client's format, without secrets or host names.
 * The router can retry each of them at another deployment.
 */
export class UpstreamErrors {
  readonly #options: Options

  constructor(options: Options) {
    this.#options = options
  }

  /** Returns the upstream's own error; its body is unchanged unless the upstream uses another format. */
  fromUpstream(head: AnswerHead, received: Buffer): UpstreamError {
    const { format, attempt } = this.#options
    const { requestId } = attempt.call
    const body = scrubbed(received, attempt.target.deployment)
    const reason = reasonOfError(head.status, body.toString('utf8', 0, searchedBytes))
    return {
      outcome: 'refused',
      status: head.status,
      headers: format.translateError ? { ...head.headers, 'content-type': 'application/json' } : head.headers,
      body: format.translateError?.(body, { status: head.status, requestId }) ?? body,
      ...(reason !== undefined && { reason }),
      ...this.#lost,
    }
  }

  /** Returns an error that came with a success status, before any content. */
  earlyFailure(head: AnswerHead, fault: UpstreamFault | undefined): UpstreamError {
    const { attempt } = this.#options
    const text = fault?.message || upstreamFault(attempt, 'failed before it sent any content').message
    const message = scrubbedText(text, attempt.target.deployment)
    return { ...this.#ours(head, 'overloaded', message), status: 529, ...reasonIn(`${fault?.word} ${message}`) }
  }

  /** Returns the error for a response in which the model only declines. */
  declined(head: AnswerHead, usage: TokenCounts): UpstreamError {
    const error = this.#ours(head, 'invalid_request', 'the model declined to answer')
    return { ...error, status: 400, reason: 'policy', usage }
  }

  /** Returns the error for an unusable response. `what` completes the sentence "the upstream of model X ...". */
  unusable(head: AnswerHead, what: string): UpstreamError {
    const { message } = upstreamFault(this.#options.attempt, what)
    return { ...this.#ours(head, 'upstream_unreachable', message), status: 502 }
  }

  #ours(head: AnswerHead, code: 'overloaded' | 'upstream_unreachable' | 'invalid_request', message: string) {
    const { format, attempt } = this.#options
    return {
      outcome: 'refused' as const,
      headers: { ...head.headers, 'content-type': 'application/json' },
      body: format.errorBody({ code, message, requestId: attempt.call.requestId }),
      ...this.#lost,
    }
  }

  get #lost() {
    const { degraded } = this.#options
    return degraded.length > 0 && { degraded }
  }
}

function reasonIn(text: string): Pick<UpstreamError, 'reason'> {
  const reason = reasonOfText(text)
  return reason === undefined ? {} : { reason }
}
