import type { LeasedSession, Leases } from './leases.ts'

/** Limit of notified sessions kept here; the sweep finds the others. */
const maxNotified = 10_000

/** Sessions with work that wait until this process has a free slot. */
export class Backlog {
  readonly #leases: Pick<Leases, 'acquireNotified' | 'acquireOldest'>
  /** Notified sessions, in the order of their notifications. Other processes may run them meanwhile. */
  readonly #notified = new Set<string>()
  /** Sessions notified while `acquire` runs. */
  #meanwhile: Set<string> | undefined
  /** True when the database may have work that this process was not notified of. */
  #needsSweep = false

  constructor(leases: Pick<Leases, 'acquireNotified' | 'acquireOldest'>) {
    this.#leases = leases
  }

  get isEmpty(): boolean {
    return this.#notified.size === 0 && !this.#needsSweep
  }

  add(sessionId: string): void {
    this.#meanwhile?.add(sessionId)
    if (this.#notified.size < maxNotified) this.#notified.add(sessionId)
    else this.#needsSweep = true
  }

  /** Makes the next `acquire` search the database for work, since notifications may have been lost. */
  requestSweep(): void {
    this.#needsSweep = true
  }

  /** Acquires up to `room` sessions. Fewer, or none, does not mean that the backlog is empty. */
  async acquire(room: number): Promise<LeasedSession[]> {
    const meanwhile = new Set<string>()
    this.#meanwhile = meanwhile
    try {
      // Work without a notification may come from a crashed process, so it goes first, although this query costs more.
      const taken = await (this.#needsSweep ? this.#acquireOldest(room) : this.#acquireNotified(room))
      for (const leased of taken) leased.hasNews ||= meanwhile.has(leased.sessionId)
      return taken
    } finally {
      this.#meanwhile = undefined
    }
  }

  async #acquireNotified(room: number): Promise<LeasedSession[]> {
    const ids = [...this.#notified].slice(0, Math.max(8, room * 4))
    const taken = await this.#leases.acquireNotified(ids, room)
    const isEnough = taken.length === room
    const seen = isEnough ? Math.max(...taken.map(({ sessionId }) => ids.indexOf(sessionId))) + 1 : ids.length
    for (const id of ids.slice(0, seen)) this.#notified.delete(id)
    return taken
  }

  async #acquireOldest(room: number): Promise<LeasedSession[]> {
    this.#needsSweep = false
    const taken = await this.#leases.acquireOldest(room)
    if (taken.length === room && this.#notified.size === 0) this.#needsSweep = true
    return taken
  }
}
