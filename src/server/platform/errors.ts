import type { ErrorCode } from '../../contract/errors.ts'

interface Details {
  /** What really happened, for the log only. */
  readonly cause?: unknown
  /** Response headers that belong to the refusal, such as `retry-after`. */
  readonly headers?: Readonly<Record<string, string>>
  /** What a program reads besides the message: all in the nested shape, `code` in OpenAI's. */
  readonly fields?: Readonly<Record<string, string>>
}

/** A refusal that the caller may read. `message` is public, `cause` is for the log. */
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

  /** The same refusal with more response headers. */
  with(more: Readonly<Record<string, string>>): AppError {
    const { code, message, cause, fields } = this
    return new AppError(code, message, { cause, fields, headers: { ...this.headers, ...more } })
  }
}

/** The database cannot work now. Whatever was asked of it is not at fault, and may succeed later. */
export class DatabaseUnavailable extends AppError {
  constructor(message: string, cause: unknown, headers: Readonly<Record<string, string>> = { 'retry-after': '1' }) {
    super('unavailable', message, { cause, headers })
    this.name = 'DatabaseUnavailable'
  }

  override with(more: Readonly<Record<string, string>>): DatabaseUnavailable {
    return new DatabaseUnavailable(this.message, this.cause, { ...this.headers, ...more })
  }
}

/** `<kind> <id> not found`. Gaps: section 1, rule 5. */
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
    | 'provider'
    | 'runtime'
    | 'schedule'
    | 'webhook endpoint'
    | 'delivery'
    | 'approval'
    | 'message'
    | 'environment'
    | 'event'
    | 'file'
    | 'freeze',
  id: string,
): AppError => new AppError('not_found', `${kind} ${id} not found`)

/** The caller sent something wrong; `message` names the field. */
export const invalid = (message: string): AppError => new AppError('invalid_request', message)

/** Refusal of a cursor that the list did not return. */
export const invalidCursor = (): AppError => invalid('invalid cursor')
