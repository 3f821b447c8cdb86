/** Each keeps a program of about 100 MB, or several times that for opencode. */
const maxWarm = 50
const maxWarmMs = 10 * 60_000

/**
 * Sessions whose runs wait here for approval, without a lease but with a live program. Ordered by the start of the
 * wait.
 */
export class WarmSessions<T extends { readonly sessionId: string }> {
  readonly #sessions = new Map<string, { readonly session: T; readonly sinceMs: number }>()

  /** `nowMs` is monotonic. */
  add(session: T, nowMs: number): void {
    this.#sessions.set(session.sessionId, { session, sinceMs: nowMs })
  }

  get(sessionId: string): T | undefined {
    return this.#sessions.get(sessionId)?.session
  }

  remove(sessionId: string): void {
    this.#sessions.delete(sessionId)
  }

  /** Returns the sessions that have waited for 10 minutes, and the oldest ones above 50. */
  overdue(nowMs: number): T[] {
    const all = [...this.#sessions.values()]
    const tooMany = Math.max(0, all.length - maxWarm)
    return all.filter(({ sinceMs }, at) => at < tooMany || nowMs - sinceMs >= maxWarmMs).map(({ session }) => session)
  }
}
