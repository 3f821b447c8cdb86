import type { ErrorCode } from '../../contract/error-codes.ts'

interface Details {
  /** Underlying error, for the log only. */
  readonly cause?: unknown
  /** Response headers of the error, such as `retry-after`. */
  readonly headers?: Readonly<Record<string, string>>
  /** Machine-readable fields besides the message: all of them in the nested shape, `code` in OpenAI's shape. */
  readonly fields?: Readonly<Record<string, string>>
}

/** Error for the caller. `message` is public, `cause` is for the log. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly headers: Readonly<Record<string, string>>
  readonly fields: Readonly<Record<string, string>>

  constructor(code: ErrorCode, message: string, { cause, headers = {}, fields = {} }: Details = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'AppError'
    this.code = code
    this.headers = headers
    this.fields = fields
  }

  /** Returns the same error with additional response headers. */
  with(more: Readonly<Record<string, string>>): AppError {
    const { code, message, cause, fields } = this
    return new AppError(code, message, { cause, fields, headers: { ...this.headers, ...more } })
  }
}

/** The database is temporarily unavailable; the request may succeed later. */
export class DatabaseUnavailable extends AppError {
  constructor(message: string, cause: unknown, headers: Readonly<Record<string, string>> = { 'retry-after': '1' }) {
    super('unavailable', message, { cause, headers })
    this.name = 'DatabaseUnavailable'
  }

  override with(more: Readonly<Record<string, string>>): DatabaseUnavailable {
    return new DatabaseUnavailable(this.message, this.cause, { ...this.headers, ...more })
  }
}

/** Returns `not_found` with the message `<kind> <id> not found`. Gaps: section 1, rule 5. */
export const notFound = (
  kind:
    | 'agent'
    | 'memory'
    | 'skill'
    | 'session'
    | 'prompt'
    | 'model'
    | 'version'
    | 'key'
    | 'budget'
    | 'vault entry'
    | 'login'
    | 'provider'
    | 'runtime'
    | 'schedule'
    | 'thread'
    | 'webhook endpoint'
    | 'delivery'
    | 'deployment'
    | 'approval'
    | 'custom tool call'
    | 'message'
    | 'environment'
    | 'event'
    | 'file'
    | 'freeze'
    | 'user'
    | 'team'
    | 'dataset'
    | 'case'
    | 'experiment'
    | 'MCP server'
    | 'vault'
    | 'credential'
    | 'memory store'
    | 'resource'
    | 'deployment run',
  id: string,
): AppError => new AppError('not_found', `${kind} ${id} not found`)

/** Returns `invalid_request`; `message` must name the field. */
export const invalid = (message: string): AppError => new AppError('invalid_request', message)

/** Returns `invalid_request` for a cursor that the list did not return. */
export const invalidCursor = (): AppError => invalid('invalid cursor')
