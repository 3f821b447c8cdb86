/** What was used last, by a name: at capacity so many entries. */
export class Recent<T> {
  readonly #capacity: number
  /** Least recently used first. */
  readonly #entries = new Map<string, T>()

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** It counts as used from now on. */
  get(name: string): T | undefined {
    const entry = this.#entries.get(name)
    if (entry !== undefined) this.set(name, entry)
    return entry
  }

  set(name: string, entry: T): void {
    this.#entries.delete(name)
    this.#entries.set(name, entry)
    const [oldest] = this.#entries.keys()
    if (this.#entries.size > this.#capacity && oldest !== undefined) this.#entries.delete(oldest)
  }
}
