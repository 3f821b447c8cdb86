import type { LogPage } from './log-page.ts'

const defaultMaxBytes = 8 * 1024 * 1024
const maxPagesPerSession = 64

/** The pages that readers of this process got last, for the readers behind them. Bounded over all sessions. */
export class PageCache {
  readonly #maxBytes: number
  /** By session, oldest first. */
  readonly #ofSession = new Map<string, LogPage[]>()
  /** All of them, oldest first. */
  readonly #all = new Set<LogPage>()
  #bytes = 0

  constructor(maxBytes = defaultMaxBytes) {
    this.#maxBytes = maxBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  /** A page that has event `seq`. */
  find(sessionId: string, seq: number): LogPage | undefined {
    return this.#ofSession.get(sessionId)?.findLast(({ first, last }) => first <= seq && seq <= last)
  }

  /** The newest page stays, whatever its size. */
  add(page: LogPage): void {
    const pages = this.#ofSession.get(page.sessionId) ?? []
    this.#ofSession.set(page.sessionId, pages)
    pages.push(page)
    this.#all.add(page)
    this.#bytes += page.bytes
    const [oldestOfSession] = pages
    if (oldestOfSession && pages.length > maxPagesPerSession) this.#evict(oldestOfSession)
    for (const oldest of this.#all) {
      if (this.#bytes <= this.#maxBytes || oldest === page) break
      this.#evict(oldest)
    }
  }

  /** Drops the pages of a session that has no readers any more. */
  forget(sessionId: string): void {
    for (const page of [...(this.#ofSession.get(sessionId) ?? [])]) this.#evict(page)
  }

  #evict(page: LogPage): void {
    if (!this.#all.delete(page)) return
    this.#bytes -= page.bytes
    const pages = this.#ofSession.get(page.sessionId) ?? []
    pages.splice(pages.indexOf(page), 1)
    if (pages.length === 0) this.#ofSession.delete(page.sessionId)
  }
}
