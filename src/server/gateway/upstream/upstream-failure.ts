import { AppError } from '../../platform/errors.ts'
import { OutboundBlocked } from '../../platform/outbound.ts'
import { errors } from '../../platform/undici.ts'

/** Returns the error for a failed connection. Its message names the model, never a host; its cause is for the log. */
export function upstreamFailure(cause: Error, model: string): AppError {
  const upstream = `the upstream of model ${model.slice(0, 200)}`
  if (cause instanceof AppError) return cause
  if (cause instanceof OutboundBlocked) {
    const message = `${upstream} has an address that outbound.allow does not permit; see the server log`
    return new AppError('upstream_unreachable', message, { cause })
  }
  if (cause instanceof errors.HeadersTimeoutError || cause instanceof errors.BodyTimeoutError) {
    return new AppError('upstream_timeout', `${upstream} did not answer in time`, { cause })
  }
  return new AppError('upstream_unreachable', `${upstream} cannot be reached`, { cause })
}

/** An interrupted response: the upstream received the request and may bill for the output up to the interruption. */
export class UpstreamInterrupted extends AppError {
  /** Milliseconds from sending the request to the interruption. */
  readonly unstatedMs: number

  constructor({ code, message, cause, headers }: AppError, unstatedMs: number) {
    super(code, message, { cause, headers })
    this.unstatedMs = unstatedMs
  }
}
