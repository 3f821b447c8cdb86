import { ApiError, ServiceUnreachable } from './failures.ts'

/** An open stream failed: it was interrupted, silent for too long, or sent an invalid frame. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost'
}

/** The stream repeatedly skipped an event of the log. */
export class EventMissing extends Error {
  override readonly name = 'EventMissing'
  /** Sequence number of the missing event. */
  readonly seq: number

  constructor(seq: number) {
    super(`event ${seq} is missing from the stream`)
    this.seq = seq
  }
}

/** Delays of a reader, in milliseconds. */
export interface Pace {
  /** Maximum delay before the first retry. */
  readonly quickMs: number
  /** Delay before the second retry, overridden by the stream's `retry:`. It doubles with every further failure. */
  readonly retryMs: number
  readonly maxMs: number
  /** Silence after which a connection counts as lost. The service sends a comment every 10 s. */
  readonly silenceMs: number
}

export const defaultPace: Pace = { quickMs: 250, retryMs: 2_000, maxMs: 30_000, silenceMs: 25_000 }

interface Wait {
  /** Consecutive failures, including this one. */
  readonly failures: number
  /** Random number from 0 to 1, which spreads the retries of many readers. */
  readonly chance: number
  /** Delay that the service requested. */
  readonly retryAfterMs?: number | undefined
}

/** Returns the delay before the next try: short at first, then doubling with jitter, never less than requested. */
export function reconnectDelayMs(
  { quickMs, retryMs, maxMs }: Pace,
  { failures, chance, retryAfterMs = 0 }: Wait,
): number {
  const delayMs =
    failures <= 1 ? quickMs * chance : Math.min(maxMs, retryMs * 2 ** Math.min(failures - 2, 20)) * (0.75 + chance / 2)
  return Math.round(Math.max(delayMs, retryAfterMs))
}

/** True when the same request may succeed later: a network failure, or status 408, 429 or 5xx. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof ApiError) return error.status === 408 || error.status === 429 || error.status >= 500
  return error instanceof ServiceUnreachable || error instanceof ConnectionLost || error instanceof EventMissing
}

/** Waits `ms`, or until `signal` aborts; never rejects. */
export function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) return resolve()
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done, { once: true })
  })
}
