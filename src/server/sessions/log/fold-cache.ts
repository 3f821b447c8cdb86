import { contextCompacted, type SessionEvent } from '../../../contract/events.ts'
import type { LogReducer } from '../../runtimes/runtime.ts'

/** State that a runtime has built from the log of a session. */
export interface Fold {
  readonly state: unknown
  /** Builds and extends the state. */
  readonly reading: LogReducer<unknown>
  /** Number of the last event in the state. */
  readonly last: number
  /** Approximate size, as JSON of its events. */
  readonly bytes: number
}

/** Objects take about twice the size of their JSON, so at most 64 MB are in use. */
const defaultMaxBytes = 32 * 1024 * 1024

/**
 * LRU cache of the states that runtimes built from the logs of sessions run by this process. Logs are append-only, so
 * an entry stays valid when another process runs the session: the missing events follow in the table.
 */
export class FoldCache {
  readonly #maxBytes: number
  /** Least recently used first. */
  readonly #folds = new Map<string, Fold>()
  #bytes = 0

  constructor(maxBytes = defaultMaxBytes) {
    this.#maxBytes = maxBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Removes and returns the fold of a session. The caller extends it and puts it back. */
  take(sessionId: string): Fold | undefined {
    const fold = this.#folds.get(sessionId)
    if (!fold) return undefined
    this.#folds.delete(sessionId)
    this.#bytes -= fold.bytes
    return fold
  }

  /** Stores a fold in place of the previous one. A fold larger than the whole cache is not stored. */
  put(sessionId: string, fold: Fold): void {
    this.take(sessionId)
    this.#folds.set(sessionId, fold)
    this.#bytes += fold.bytes
    for (const [oldest] of this.#folds) {
      if (this.#bytes <= this.#maxBytes) break
      this.take(oldest)
    }
  }

  /** Adds stored events that continue a cached fold, so that they need not be read for it. */
  note(sessionId: string, events: readonly SessionEvent[]): void {
    const cached = this.#folds.get(sessionId)
    if (cached?.last !== (events[0]?.seq ?? 0) - 1) return
    this.put(sessionId, extendFold(cached, events))
  }
}

/** Returns the fold extended by `events`; `bytes` is their size if known. */
export function extendFold(fold: Fold, events: readonly SessionEvent[], bytes = JSON.stringify(events).length): Fold {
  const { state, reading } = fold
  for (const event of events) reading.add(state, event)
  const whole = events.some(contextCompacted) ? reading.bytesOf(state) : fold.bytes + bytes
  return { state, reading, last: events.at(-1)?.seq ?? fold.last, bytes: whole }
}
