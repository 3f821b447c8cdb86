import { ApiError, ServiceUnreachable } from './failures.ts'

/** A stream that had been opened is of no more use: it was cut, fell silent, or sent what cannot be read. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost'
}

/** The service left out an event, again and again: the log and the stream do not agree. */
export class EventMissing extends Error {
  override readonly name = 'EventMissing'
  /** Sequence number of the event that did not come. */
  readonly seq: number

  constructor(seq: number) {
    super(`event ${seq} is missing from the stream`)
    this.seq = seq
  }
}

/** The pace of a reader, in milliseconds. */
export interface Pace {
  /** Longest wait before the first new try. */
  readonly quickMs: number
  /** Wait before the second; the stream's `retry:` replaces it. It doubles with every further failure. */
  readonly retryMs: number
  readonly maxMs: number
  /** Silence after which a connection counts as lost. The service sends a comment every 10 s. */
  readonly silenceMs: number
}

export const usualPace: Pace = { quickMs: 250, retryMs: 2_000, maxMs: 30_000, silenceMs: 25_000 }

interface Wait {
  /** Failures in a row, this one included. */
  readonly failures: number
  /** From 0 to 1: spreads readers out that lost the same server. */
  readonly chance: number
  /** What the service asked for. */
  readonly retryAfterMs?: number | undefined
}

/** Milliseconds to wait before the next try: quick at first, then doubling with jitter, never less than asked for. */
export function reconnectDelayMs(
  { quickMs, retryMs, maxMs }: Pace,
  { failures, chance, retryAfterMs = 0 }: Wait,
): number {
  const usual =
    failures <= 1 ? quickMs * chance : Math.min(maxMs, retryMs * 2 ** Math.min(failures - 2, 20)) * (0.75 + chance / 2)
  return Math.round(Math.max(usual, retryAfterMs))
}

/** True when the same request may succeed later: the network failed, or the service asks to wait or is in trouble. */
export function isPassing(error: unknown): boolean {
  if (error instanceof ApiError) return error.status === 408 || error.status === 429 || error.status >= 500
  return error instanceof ServiceUnreachable || error instanceof ConnectionLost || error instanceof EventMissing
}

/** Waits `ms`, or less when `signal` aborts; never rejects. */
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
