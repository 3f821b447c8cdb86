/** What was used last, by a name: at most so many entries. */
export class Recent<T> {
  readonly #most: number
  /** Least recently used first. */
  readonly #entries = new Map<string, T>()

  constructor(most: number) {
    this.#most = most
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
    if (this.#entries.size > this.#most && oldest !== undefined) this.#entries.delete(oldest)
  }
}
