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
