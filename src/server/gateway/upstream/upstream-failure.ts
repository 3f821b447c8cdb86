import { AppError } from '../../platform/errors.ts'
import { OutboundRefused } from '../../platform/outbound.ts'
import { errors } from '../../platform/undici.ts'

/** What a failed connection means for the caller. The text names the model, never a host; the cause is for the log. */
export function upstreamFailure(cause: Error, model: string): AppError {
  const upstream = `the upstream of model ${model.slice(0, 200)}`
  if (cause instanceof AppError) return cause
  if (cause instanceof OutboundRefused) {
    const message = `${upstream} is at an address that this server may not call; its log names the setting`
    return new AppError('upstream_unreachable', message, { cause })
  }
  if (cause instanceof errors.HeadersTimeoutError || cause instanceof errors.BodyTimeoutError) {
    return new AppError('upstream_timeout', `${upstream} did not answer in time`, { cause })
  }
  return new AppError('upstream_unreachable', `${upstream} cannot be reached`, { cause })
}

/** The upstream had the request, and its answer never came to its end: it may bill for what it made meanwhile. */
export class UpstreamCut extends AppError {
  /** How long it had the request. */
  readonly unstatedMs: number

  constructor({ code, message, cause, headers }: AppError, unstatedMs: number) {
    super(code, message, { cause, headers })
    this.unstatedMs = unstatedMs
  }
}
