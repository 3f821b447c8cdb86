import { codeOfStatus, type ErrorCode } from '../contract/errors.ts'

interface ApiErrorDetails {
  readonly status: number
  readonly type?: string | undefined
  readonly requestId?: string | undefined
  readonly retryAfterMs?: number | undefined
}

/** The service answered, and the answer is a refusal. `message` is the service's own, whatever shape it came in. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  /** The service's code for the status; `internal` for a status that it does not use. */
  readonly code: ErrorCode
  /** `error.type` as sent; undefined in the plain shape. */
  readonly type: string | undefined
  /** Names this request in the service's log. */
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

/** No answer came: the service does not run, its name is unknown, or the connection broke. */
export class ServiceUnreachable extends Error {
  override readonly name = 'ServiceUnreachable'
  readonly baseUrl: string

  constructor(baseUrl: string, cause: unknown) {
    super(`no answer from ${baseUrl === '' ? 'the service' : baseUrl}: ${networkReason(cause)}`, { cause })
    this.baseUrl = baseUrl
  }
}

/** A path parameter that cannot stand in an address, such as `..`; nothing was sent. */
export class InvalidParameter extends Error {
  override readonly name = 'InvalidParameter'
}

/** The refusal that `response` stands for. Reads its body; a body that no shape fits gives a message of ours. */
export async function apiErrorOf(response: Response): Promise<ApiError> {
  const body = parsed(await response.text().catch(() => ''))
  const error = field(body, 'error')
  const message = typeof error === 'string' ? error : field(error, 'message')
  const type = field(error, 'type')
  const fallback = `the service answered ${response.status} ${response.statusText}`.trimEnd()
  return new ApiError(typeof message === 'string' && message !== '' ? message : fallback, {
    status: response.status,
    type: typeof type === 'string' ? type : undefined,
    requestId: requestIdOf(response, body),
    retryAfterMs: retryAfterMs(response.headers.get('retry-after')),
  })
}

/** Milliseconds of a `Retry-After` in seconds or as a date; undefined when there is none that can be read. */
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

/** JSON, or undefined for text that is none: a proxy's error page, say. */
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

/** Plain words for the codes that fetch gives in Node; browsers give none. */
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there (connection refused)',
  ECONNRESET: 'the connection was cut',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ENOTFOUND: 'the host name is not known',
  EAI_AGAIN: 'the host name could not be looked up',
  ETIMEDOUT: 'it took too long',
  UND_ERR_CONNECT_TIMEOUT: 'it took too long to connect',
  UND_ERR_HEADERS_TIMEOUT: 'it took too long to answer',
  UND_ERR_BODY_TIMEOUT: 'it took too long to answer',
  UND_ERR_SOCKET: 'the connection was cut',
}

function networkReason(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  const code = field(cause, 'code')
  const known = typeof code === 'string' ? reasons[code] : undefined
  if (known !== undefined) return known
  return cause instanceof Error && cause.message !== '' ? cause.message : 'the connection failed'
}
