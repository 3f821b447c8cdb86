/** LRU cache with at most `capacity` entries. */
export class Recent<T> {
  readonly #capacity: number
  /** Least recently used first. */
  readonly #entries = new Map<string, T>()

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** Returns an entry and marks it as recently used. */
  get(name: string): T | undefined {
    const entry = this.#entries.get(name)
    if (entry !== undefined) this.set(name, entry)
    return entry
  }

  /** Removes an entry and returns it. */
  take(name: string): T | undefined {
    const entry = this.#entries.get(name)
    this.#entries.delete(name)
    return entry
  }

  set(name: string, entry: T): void {
    this.#entries.delete(name)
    this.#entries.set(name, entry)
    const [oldest] = this.#entries.keys()
    if (this.#entries.size > this.#capacity && oldest !== undefined) this.#entries.delete(oldest)
  }
}
