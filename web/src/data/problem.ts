import { ApiError, ServiceUnreachable } from '../../../src/client/index.ts'
import { errorHelp } from '../../../src/contract/error-help.ts'

/** What a person needs to know about an error. */
export interface Problem {
  /** What failed, in the words of the service. */
  readonly message: string
  /** Why that happens in general; undefined when the message is all there is. */
  readonly cause: string | undefined
  readonly nextStep: string
  readonly requestId: string | undefined
  readonly isForbidden: boolean
  readonly isMissing: boolean
}

/** Describes an error of a request for display: message, cause, next step and request id, without a stack. */
export function problemOf(error: unknown): Problem {
  if (error instanceof ApiError) {
    const { message, code, status, requestId, retryAfterMs } = error
    const { cause, nextStep } = errorHelp[code]
    const wait = retryAfterMs === undefined ? '' : ` The service asks to wait ${Math.ceil(retryAfterMs / 1000)} s.`
    return {
      message,
      cause,
      nextStep: nextStep + wait,
      requestId,
      isForbidden: status === 403,
      isMissing: status === 404,
    }
  }
  const isUnreachable = error instanceof ServiceUnreachable
  return {
    message: error instanceof Error ? error.message : 'unknown error',
    cause: undefined,
    nextStep: isUnreachable ? 'Check that the service runs. This page tries again by itself.' : 'Reload the page.',
    requestId: undefined,
    isForbidden: false,
    isMissing: false,
  }
}
