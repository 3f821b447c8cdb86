import { contextCompacted, type SessionEvent } from '../../../contract/events.ts'
import type { Reading } from '../../runtimes/runtime.ts'

/** What a runtime has made of the log of a session. */
export interface Fold {
  readonly state: unknown
  /** How the state was made, and goes on. */
  readonly reading: Reading<unknown>
  /** Number of the last event in it. */
  readonly last: number
  /** About what it takes, as JSON of its events. */
  readonly bytes: number
}

/** Objects take about twice as much as JSON, so that 64 MB are in use at most. */
const defaultMaxBytes = 32 * 1024 * 1024

/**
 * What runtimes have made of the logs of the sessions that ran in this process last. A log only grows, so that what is here is
 * true whoever has run the session since: the rest is behind it in the table. Those that were used last stay.
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

  /** Hands out what is known of a session, for somebody who goes on with it and gives it back. */
  take(sessionId: string): Fold | undefined {
    const fold = this.#folds.get(sessionId)
    if (!fold) return undefined
    this.#folds.delete(sessionId)
    this.#bytes -= fold.bytes
    return fold
  }

  /** Keeps it in place of what was known; one that is larger than all is left out. */
  put(sessionId: string, fold: Fold): void {
    this.take(sessionId)
    this.#folds.set(sessionId, fold)
    this.#bytes += fold.bytes
    for (const [oldest] of this.#folds) {
      if (this.#bytes <= this.#maxBytes) break
      this.take(oldest)
    }
  }

  /** Hears of events that were stored. Those that go on where a fold ends need not be read for it. */
  note(sessionId: string, events: readonly SessionEvent[]): void {
    const known = this.#folds.get(sessionId)
    if (known?.last !== (events[0]?.seq ?? 0) - 1) return
    this.put(sessionId, goneOn(known, events))
  }
}

/** The fold with the events behind it; `bytes` is what they take, if that is known. */
export function goneOn(fold: Fold, events: readonly SessionEvent[], bytes = JSON.stringify(events).length): Fold {
  const { state, reading } = fold
  for (const event of events) reading.add(state, event)
  const whole = events.some(contextCompacted) ? reading.bytesOf(state) : fold.bytes + bytes
  return { state, reading, last: events.at(-1)?.seq ?? fold.last, bytes: whole }
}
