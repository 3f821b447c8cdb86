/** Every error code of the service, with its HTTP status and its `type` in Anthropic's envelope. */
const table = {
  invalid_request: [400, 'invalid_request_error'],
  unauthorized: [401, 'authentication_error'],
  budget_exceeded: [402, 'billing_error'],
  forbidden: [403, 'permission_error'],
  not_found: [404, 'not_found_error'],
  unknown_path: [404, 'not_found_error'],
  method_not_allowed: [405, 'invalid_request_error'],
  conflict: [409, 'invalid_request_error'],
  payload_too_large: [413, 'request_too_large'],
  unsupported_media_type: [415, 'invalid_request_error'],
  idempotency_mismatch: [422, 'invalid_request_error'],
  upgrade_required: [426, 'invalid_request_error'],
  rate_limited: [429, 'rate_limit_error'],
  internal: [500, 'api_error'],
  upstream_unreachable: [502, 'api_error'],
  unavailable: [503, 'api_error'],
  upstream_timeout: [504, 'timeout_error'],
  overloaded: [529, 'overloaded_error'],
} as const satisfies Record<string, readonly [number, string]>

export type ErrorCode = keyof typeof table

/** Returns the HTTP status of an error code. */
export const statusOfCode = (code: ErrorCode): number => table[code][0]

/** Returns the error type of a code in Anthropic's envelope. Source: Gateway, section 1. */
export const anthropicTypeOf = (code: ErrorCode): string => table[code][1]

/** Returns the code for an HTTP status with which the HTTP library rejects requests; `internal` for any other. */
export function codeOfStatus(status: number): ErrorCode {
  const codes = Object.keys(table) as ErrorCode[]
  return codes.find(code => table[code][0] === status) ?? 'internal'
}
