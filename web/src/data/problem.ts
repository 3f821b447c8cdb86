import { ApiError, ServiceUnreachable } from '../../../src/client/index.ts'

/** What a person needs to know about an error. */
export interface Problem {
  /** What failed, in the words of the service. */
  readonly message: string
  readonly nextStep: string
  readonly requestId: string | undefined
  readonly isForbidden: boolean
  readonly isMissing: boolean
}

const nextSteps: Readonly<Record<number, string>> = {
  400: 'Correct the named field, then send it again.',
  401: 'Sign in again.',
  402: 'Raise the budget, or wait until it is reset.',
  403: 'Sign in with a key that may do this, or ask an administrator.',
  404: 'It does not exist or belongs to someone else. Check the address.',
  409: 'Reload to see the current state, then try again.',
  413: 'Send less: the request is larger than the limit.',
  422: 'Correct the named field, then send it again.',
  429: 'Wait, then try again.',
  500: 'Try again. If it fails again, look up the request id in the log of the service.',
  502: 'The provider answered with an error. Check its status and credential.',
  503: 'Try again in a moment.',
  504: 'Try again. The provider took too long.',
}

/** Describes an error of a request for display: cause, next step and request id, without a stack. */
export function problemOf(error: unknown): Problem {
  if (error instanceof ApiError) {
    const { message, status, requestId, retryAfterMs } = error
    const wait = retryAfterMs === undefined ? undefined : `Try again in ${Math.ceil(retryAfterMs / 1000)} s.`
    const nextStep = wait ?? nextSteps[status] ?? 'Try again.'
    return { message, nextStep, requestId, isForbidden: status === 403, isMissing: status === 404 }
  }
  const isUnreachable = error instanceof ServiceUnreachable
  return {
    message: error instanceof Error ? error.message : 'unknown error',
    nextStep: isUnreachable ? 'Check that the service runs. This page tries again by itself.' : 'Reload the page.',
    requestId: undefined,
    isForbidden: false,
    isMissing: false,
  }
}
