import { AppError } from '../../platform/errors.ts'
import { type Json, jsonOr, recordOf, recordsOf, textOf } from '../../platform/json.ts'

const maxReasonChars = 400

/** The API server rejected a request, failed or could not be reached. */
export class KubernetesError extends AppError {
  /** HTTP status; undefined without a response. */
  readonly status: number | undefined
  /** Minimum time until a retry, as the server requests it. */
  readonly retryAfterMs: number | undefined

  constructor(message: string, { status, retryAfterMs, cause }: Details = {}) {
    super('unavailable', `Kubernetes API server: ${onOneLine(message)}`, { cause })
    this.name = 'KubernetesError'
    this.status = status
    this.retryAfterMs = retryAfterMs
  }
}

interface Details {
  readonly status?: number
  readonly retryAfterMs?: number | undefined
  readonly cause?: unknown
}

/** Returns a text without control characters, cut to a readable length. */
export function onOneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
  const line = text.replaceAll(/[\u0000-\u001f\u007f\s]+/g, ' ').trim()
  return line.length > maxReasonChars ? `${line.slice(0, maxReasonChars)}...` : line
}

interface Answer {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly text: string
}

/** Returns the error of a response that is not 2xx. Its body is a `Status` object, or anything from a proxy. */
export function errorOfAnswer({ status, retryAfter, text }: Answer): KubernetesError {
  const { message, details } = recordOf(jsonOr(text, undefined))
  const seconds = Number(retryAfter ?? recordOf(details)['retryAfterSeconds'])
  return new KubernetesError(`${textOf(message) || text || 'no message'} (${status})`, {
    status,
    retryAfterMs: Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined,
  })
}

/** True when the same request may succeed later: no response, overload, a rotated token, or a failing server. */
export const isTransient = ({ status }: KubernetesError): boolean =>
  status === undefined || status === 401 || status === 429 || status >= 500

/** Result of a command as the error channel of an exec reports it. */
export type ExecStatus = { readonly kind: 'exited'; readonly code: number } | ExecLost

/** The connection ended without an exit code. */
export interface ExecLost {
  readonly kind: 'lost'
  readonly reason: string
}

/** Reads the `Status` object of the error channel. */
export function execStatusOf(text: string): ExecStatus {
  const status = recordOf(jsonOr(text, undefined))
  if (status['status'] === 'Success') return { kind: 'exited', code: 0 }
  const code = status['reason'] === 'NonZeroExitCode' ? exitCodeIn(status) : undefined
  if (code !== undefined) return { kind: 'exited', code }
  return { kind: 'lost', reason: onOneLine(textOf(status['message']) || text || 'no status') }
}

function exitCodeIn(status: Json): number | undefined {
  const causes = recordsOf(recordOf(status['details'])['causes'])
  const text = textOf(causes.find(({ reason }) => reason === 'ExitCode')?.['message'])
  return /^\d{1,3}$/.test(text) ? Number(text) : undefined
}
