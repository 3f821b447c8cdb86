import { ApiError, InvalidParameter, ServiceUnreachable } from '../client/failures.ts'
import { type ExitCode, exitCodes } from './exit-codes.ts'
import type { Out } from './out.ts'

/** Error with a message for the user: what is wrong, and the next step. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed'
  readonly exitCode: ExitCode

  constructor(message: string, exitCode: ExitCode = exitCodes.failed) {
    super(message)
    this.exitCode = exitCode
  }
}

const byStatus: Readonly<Record<number, ExitCode>> = {
  400: exitCodes.usage,
  401: exitCodes.refused,
  402: exitCodes.limited,
  403: exitCodes.refused,
  404: exitCodes.notFound,
  409: exitCodes.blocked,
  413: exitCodes.usage,
  422: exitCodes.usage,
  429: exitCodes.limited,
  529: exitCodes.limited,
}

/** Returns the exit code of a failure. */
export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommandFailed) return error.exitCode
  if (error instanceof ApiError) return byStatus[error.status] ?? exitCodes.failed
  if (error instanceof ServiceUnreachable) return exitCodes.unreachable
  return error instanceof InvalidParameter ? exitCodes.usage : exitCodes.failed
}

const hints: Readonly<Record<number, string>> = {
  401: 'Set the key in SWITCHYARD_KEY or pass --key.',
  403: 'This key lacks permission; use another key.',
}

/** Prints a failure with the service's error code and request id, without a stack. */
export function reportFailure(out: Out, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof ApiError) {
    const { code, status, type, requestId } = error
    out.failure(`${code}: ${message}${requestId ? ` (request ${requestId})` : ''}`, {
      message,
      code,
      status,
      type,
      request_id: requestId,
    })
    const hint = hints[status]
    if (hint) out.note(hint)
    return
  }
  if (error instanceof ServiceUnreachable) {
    out.failure(message, { message, code: 'unreachable' })
    out.note('Start the service with "npm start", or set its address with --url or SWITCHYARD_URL.')
    return
  }
  out.failure(message, { message, code: error instanceof InvalidParameter ? 'invalid_request' : 'failed' })
}
