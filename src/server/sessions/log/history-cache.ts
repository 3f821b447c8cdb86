import { type ContextCompacted, contextCompacted, isKeptBy, type SessionEvent } from '../../../contract/events.ts'

/** Events of a log that follow on each other, and about what they take. */
export interface SizedPage {
  readonly events: readonly SessionEvent[]
  /** Of their payloads as JSON. */
  readonly bytes: number
}

/** Where a page belongs. */
interface Place {
  /** Number of the event before it; undefined: it is the beginning. */
  readonly after: number | undefined
  /** Only what the last compaction of the conversation has kept stays. */
  readonly isCompactable: boolean
}

interface History {
  readonly events: readonly SessionEvent[]
  readonly bytes: number
}

/** As JSON: objects take about twice as much, so that 64 MB are in use at most. */
const defaultMaxBytes = 32 * 1024 * 1024

/**
 * The logs of sessions that ran in this process last: from their first event on, or what their last compaction has kept. A log
 * only grows, so that what is here is true whoever has run the session since: the rest is behind it in the table. Those that were
 * used last stay.
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

  /**
   * Keeps the events right behind those that are known, or those with which a history begins; others are left out, and so is a
   * log that is too long for all.
   */
  add(sessionId: string, { events, bytes }: SizedPage, { after, isCompactable }: Place): void {
    const known = this.#histories.get(sessionId)
    if (events.length === 0 || known?.events.at(-1)?.seq !== after) return
    const compaction = isCompactable ? events.map(contextCompacted).findLast(Boolean) : undefined
    const all = { events: [...(known?.events ?? []), ...events], bytes: (known?.bytes ?? 0) + bytes }
    const history = compaction ? keptBy(compaction, all.events) : all
    this.#bytes += history.bytes - (known?.bytes ?? 0)
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

/** What a compaction has kept. Only pages say what they take, so that it is measured. */
function keptBy(compaction: ContextCompacted, events: readonly SessionEvent[]): History {
  const kept = events.filter(({ seq }) => isKeptBy(compaction, seq))
  return { events: kept, bytes: kept.reduce((sum, event) => sum + JSON.stringify(event).length, 0) }
}
