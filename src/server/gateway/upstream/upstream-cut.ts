import { AppError } from '../../platform/errors.ts'

/** The upstream had the request, and its answer never came to its end: it may bill for what it made meanwhile. */
export class UpstreamCut extends AppError {
  /** How long it had the request. */
  readonly unstatedMs: number

  constructor({ code, message, cause, headers }: AppError, unstatedMs: number) {
    super(code, message, { cause, headers })
    this.unstatedMs = unstatedMs
  }
}
