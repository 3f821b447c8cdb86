import type { LogPage } from './log-page.ts'

const defaultMaxBytes = 8 * 1024 * 1024
const maxPagesPerSession = 64

/** Cache of the latest pages, for readers that are behind. The size limit applies to all sessions together. */
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

  /** Returns a page that has event `seq`. */
  find(sessionId: string, seq: number): LogPage | undefined {
    return this.#ofSession.get(sessionId)?.findLast(({ first, last }) => first <= seq && seq <= last)
  }

  /** Adds a page. The newest page always stays, even when it exceeds the limit. */
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

  /** Drops the pages of a session that has no more readers. */
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
