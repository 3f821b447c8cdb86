import type { SessionEvent } from '../../../contract/events.ts'

/** Events of a log that follow on each other, and about what they take. */
export interface SizedPage {
  readonly events: readonly SessionEvent[]
  /** Of their payloads as JSON. */
  readonly bytes: number
}

interface History {
  readonly events: SessionEvent[]
  bytes: number
}

/** As JSON: objects take about twice as much, so that 64 MB are in use at most. */
const defaultMaxBytes = 32 * 1024 * 1024

/**
 * The logs of sessions that ran in this process last, from their first event on. A log only grows, so that what is here is true
 * whoever has run the session since: the rest is behind it in the table. Those that were used last stay.
 */
export class HistoryCache {
  readonly #maxBytes: number
  /** Least recently used first. */
  readonly #histories = new Map<string, History>()
  #bytes = 0

  constructor(maxBytes = defaultMaxBytes) {
    this.#maxBytes = maxBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  /** What is known of the beginning of a log; empty for nothing. Nobody may change it. */
  eventsOf(sessionId: string): readonly SessionEvent[] {
    const history = this.#histories.get(sessionId)
    if (!history) return []
    this.#histories.delete(sessionId)
    this.#histories.set(sessionId, history)
    return [...history.events]
  }

  /** Keeps the events right behind those that are known; others are left out, and so is a log that is too long for all. */
  add(sessionId: string, { events, bytes }: SizedPage): void {
    const history = this.#histories.get(sessionId) ?? { events: [], bytes: 0 }
    if (events[0]?.seq !== history.events.length + 1) return
    for (const event of events) history.events.push(event)
    history.bytes += bytes
    this.#bytes += bytes
    this.#histories.delete(sessionId)
    this.#histories.set(sessionId, history)
    for (const [oldest] of this.#histories) {
      if (this.#bytes <= this.#maxBytes) break
      this.#forget(oldest)
    }
  }

  #forget(sessionId: string): void {
    this.#bytes -= this.#histories.get(sessionId)?.bytes ?? 0
    this.#histories.delete(sessionId)
  }
}
