import { RuntimeFailure } from '../runtime.ts'

/** Managed Agents error types by Cursor's error code; other types follow from the HTTP status. */
const types: ReadonlyMap<string, string> = new Map([
  ['integration_not_connected', 'repository_authentication_error'],
  ['repository_access', 'repository_forbidden_error'],
  ['repository_not_found', 'repository_not_found_error'],
  ['usage_limit_exceeded', 'billing_error'],
  ['rate_limit_exceeded', 'model_rate_limited_error'],
])

/** Returns the Managed Agents error type of a code; `otherwise` for an unknown code. */
export const errorType = (code: string | undefined, otherwise = 'model_request_failed_error'): string =>
  types.get(code ?? '') ?? otherwise

const passing: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504, 529])

/** Reports whether the same call may succeed later: there was no response, or its status allows a retry. */
export const isPassing = (error: unknown): error is RuntimeFailure =>
  error instanceof RuntimeFailure && (error.status === undefined || passing.has(error.status))
