import type { SessionEvent } from '../../../contract/events.ts'

/** Consecutive events of a log with their approximate size. */
export interface SizedPage {
  readonly events: readonly SessionEvent[]
  /** Bytes of their payloads as JSON. */
  readonly bytes: number
}

interface History {
  readonly events: SessionEvent[]
  bytes: number
}

/** Bytes of JSON. Objects take about twice that, so at most 64 MB are in use. */
const defaultMaxBytes = 32 * 1024 * 1024

/**
 * LRU cache of the beginnings of session logs run by this process. Logs are append-only, so an entry stays valid when
 * another process runs the session: the missing events follow in the table.
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

  /** Returns the cached beginning of a log; empty when there is none. The events must not be changed. */
  eventsOf(sessionId: string): readonly SessionEvent[] {
    const history = this.#histories.get(sessionId)
    if (!history) return []
    this.#histories.delete(sessionId)
    this.#histories.set(sessionId, history)
    return [...history.events]
  }

  /**
   * Adds the events that directly follow the cached ones; ignores others. A log larger than the whole cache is dropped.
   */
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
