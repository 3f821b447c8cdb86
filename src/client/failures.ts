import { codeOfStatus, type ErrorCode } from '../contract/error-codes.ts'

interface ApiErrorDetails {
  readonly status: number
  readonly type?: string | undefined
  readonly requestId?: string | undefined
  readonly retryAfterMs?: number | undefined
}

/** Error response of the service. `message` is the service's message, in any error shape. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  /** Error code of the status; `internal` for a status that the service does not use. */
  readonly code: ErrorCode
  /** `error.type` as sent; undefined in the plain error shape. */
  readonly type: string | undefined
  /** Id of this request in the service's log. */
  readonly requestId: string | undefined
  /** From `Retry-After`. */
  readonly retryAfterMs: number | undefined

  constructor(message: string, { status, type, requestId, retryAfterMs }: ApiErrorDetails) {
    super(message)
    this.status = status
    this.code = codeOfStatus(status)
    this.type = type
    this.requestId = requestId
    this.retryAfterMs = retryAfterMs
  }
}

/** The service did not respond: it does not run, its name is unknown, or the connection broke. */
export class ServiceUnreachable extends Error {
  override readonly name = 'ServiceUnreachable'
  readonly baseUrl: string

  constructor(baseUrl: string, cause: unknown) {
    super(`cannot reach ${baseUrl === '' ? 'the service' : baseUrl}: ${networkReason(cause)}`, { cause })
    this.baseUrl = baseUrl
  }
}

/** A path parameter that cannot be part of an address, such as `..`; the request was not sent. */
export class InvalidParameter extends Error {
  override readonly name = 'InvalidParameter'
}

/**
 * Returns the error of a failed `response`. Reads its body; a body of another shape gives a message with the status.
 */
export async function apiErrorOf(response: Response): Promise<ApiError> {
  const body = parsed(await response.text().catch(() => ''))
  const error = field(body, 'error')
  const message = typeof error === 'string' ? error : field(error, 'message')
  const type = field(error, 'type')
  const fallback = `service returned ${response.status} ${response.statusText}`.trimEnd()
  return new ApiError(typeof message === 'string' && message !== '' ? message : fallback, {
    status: response.status,
    type: typeof type === 'string' ? type : undefined,
    requestId: requestIdOf(response, body),
    retryAfterMs: retryAfterMs(response.headers.get('retry-after')),
  })
}

/** Parses a `Retry-After` in seconds or as a date; returns milliseconds, undefined when absent or invalid. */
export function retryAfterMs(value: string | null, nowMs = Date.now()): number | undefined {
  if (value === null) return undefined
  if (/^\d{1,7}$/.test(value)) return Number(value) * 1000
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs)
}

function requestIdOf(response: Response, body: unknown): string | undefined {
  const inBody = field(body, 'request_id')
  return response.headers.get('request-id') ?? (typeof inBody === 'string' ? inBody : undefined)
}

/** Returns undefined for text that is not JSON, such as a proxy's error page. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}

/** Messages for the error codes of fetch in Node; browsers have no codes. */
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused; no service listens there',
  ECONNRESET: 'connection was interrupted',
  EHOSTUNREACH: 'host is unreachable',
  ENETUNREACH: 'network is unreachable',
  ENOTFOUND: 'host name is unknown',
  EAI_AGAIN: 'host name lookup failed',
  ETIMEDOUT: 'connection timed out',
  UND_ERR_CONNECT_TIMEOUT: 'connection timed out',
  UND_ERR_HEADERS_TIMEOUT: 'response timed out',
  UND_ERR_BODY_TIMEOUT: 'response timed out',
  UND_ERR_SOCKET: 'connection was interrupted',
}

function networkReason(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  const code = field(cause, 'code')
  const reason = typeof code === 'string' ? reasons[code] : undefined
  if (reason !== undefined) return reason
  return cause instanceof Error && cause.message !== '' ? cause.message : 'connection failed'
}
