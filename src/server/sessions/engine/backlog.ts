import type { HeldSession, Leases } from './leases.ts'

/** Sessions to remember; the sweep finds the others. */
const maxHeard = 10_000

/** Work for which a process has no room yet. */
export class Backlog {
  readonly #leases: Pick<Leases, 'takeHeard' | 'takeOldest'>
  /** In the order in which they were heard of; other processes may run them meanwhile. */
  readonly #heard = new Set<string>()
  /** Those that were heard of while sessions are being taken. */
  #meanwhile: Set<string> | undefined
  /** There may be work that was not heard of. */
  #isBehind = false

  constructor(leases: Pick<Leases, 'takeHeard' | 'takeOldest'>) {
    this.#leases = leases
  }

  get isEmpty(): boolean {
    return this.#heard.size === 0 && !this.#isBehind
  }

  add(sessionId: string): void {
    this.#meanwhile?.add(sessionId)
    if (this.#heard.size < maxHeard) this.#heard.add(sessionId)
    else this.#isBehind = true
  }

  /** Makes it look at the database for what nobody told. */
  addUnheard(): void {
    this.#isBehind = true
  }

  /** Takes up to `room` sessions; fewer, or none, does not mean that it is empty now. */
  async take(room: number): Promise<HeldSession[]> {
    const meanwhile = new Set<string>()
    this.#meanwhile = meanwhile
    try {
      // What was not heard of may be what a dead process left: it comes first, yet costs more than those that are known.
      const taken = await (this.#isBehind ? this.#takeOldest(room) : this.#takeHeard(room))
      for (const held of taken) held.hasNews ||= meanwhile.has(held.sessionId)
      return taken
    } finally {
      this.#meanwhile = undefined
    }
  }

  async #takeHeard(room: number): Promise<HeldSession[]> {
    const ids = [...this.#heard].slice(0, Math.max(8, room * 4))
    const taken = await this.#leases.takeHeard(ids, room)
    const isEnough = taken.length === room
    const seen = isEnough ? Math.max(...taken.map(({ sessionId }) => ids.indexOf(sessionId))) + 1 : ids.length
    for (const id of ids.slice(0, seen)) this.#heard.delete(id)
    return taken
  }

  async #takeOldest(room: number): Promise<HeldSession[]> {
    this.#isBehind = false
    const taken = await this.#leases.takeOldest(room)
    if (taken.length === room && this.#heard.size === 0) this.#isBehind = true
    return taken
  }
}
