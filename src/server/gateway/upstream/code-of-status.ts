import type { ErrorCode } from '../../../contract/errors.ts'

const codes: Readonly<Record<number, ErrorCode>> = {
  401: 'unauthorized',
  402: 'budget_exceeded',
  403: 'forbidden',
  404: 'not_found',
  408: 'upstream_timeout',
  409: 'conflict',
  413: 'payload_too_large',
  429: 'rate_limited',
  500: 'internal',
  503: 'overloaded',
  504: 'upstream_timeout',
  529: 'overloaded',
}

/** What an upstream's error status, 400 or above, means in our terms when its words say nothing more exact. */
export const codeOfUpstreamStatus = (status: number): ErrorCode =>
  codes[status] ?? (status < 500 ? 'invalid_request' : 'upstream_unreachable')
