import { RuntimeFailure } from '../runtime.ts'

/** Words of Cursor that stand for a Managed Agents error type; the status tells the others. */
const types: ReadonlyMap<string, string> = new Map([
  ['integration_not_connected', 'repository_authentication_error'],
  ['repository_access', 'repository_forbidden_error'],
  ['repository_not_found', 'repository_not_found_error'],
  ['usage_limit_exceeded', 'billing_error'],
  ['rate_limit_exceeded', 'model_rate_limited_error'],
])

/** The Managed Agents error type of a failure with that code; `otherwise` when the code says nothing. */
export const errorType = (code: string | undefined, otherwise = 'model_request_failed_error'): string =>
  types.get(code ?? '') ?? otherwise

const passing: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504, 529])

/** True when the same call may succeed later: nothing was answered, or the answer said so. */
export const isPassing = (error: unknown): error is RuntimeFailure =>
  error instanceof RuntimeFailure && (error.status === undefined || passing.has(error.status))
