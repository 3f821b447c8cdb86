/** Result of a lookup, and how long it stays valid. */
export interface CachedLookup<T> {
  /** Undefined if the name is unknown. */
  readonly value: T | undefined
  /** Id of the key, for invalidation; undefined if the name is unknown. */
  readonly keyId: string | undefined
  /** Validity in ms from the lookup on; null if only the cache limits it. */
  readonly ttlMs: number | null
}

interface Entry<T> extends CachedLookup<T> {
  readonly sinceMs: number
}

interface Options {
  /** Monotonic. */
  readonly nowMs: () => number
  /** Maximum number of entries, separately for known and unknown names. */
  readonly capacity?: number
}

const maxAgeMs = 5_000
/** Age at which the use of a key triggers a lookup in the background, so that calls do not wait for it. */
const refreshMs = 4_000
const defaultCapacity = 10_000

/**
 * Caches key lookups for 5 s. Names are whole digests, never parts of one. A flood of wrong keys evicts only other
 * wrong keys. Security: S06.
 */
export class KeyCache<T> {
  readonly #found = new Map<string, Entry<T>>()
  readonly #missing = new Map<string, Entry<T>>()
  readonly #loading = new Map<string, Promise<Entry<T>>>()
  readonly #nowMs: () => number
  readonly #capacity: number
  /** Increments with each invalidation. */
  #epoch = 0

  constructor({ nowMs, capacity = defaultCapacity }: Options) {
    this.#nowMs = nowMs
    this.#capacity = capacity
  }

  /** Returns the value of `name`: synchronously if cached, else from `load`. Concurrent calls share one load. */
  get(name: string, load: () => Promise<CachedLookup<T>>): T | undefined | Promise<T | undefined> {
    const cached = this.#found.get(name) ?? this.#missing.get(name)
    const ageMs = cached ? this.#nowMs() - cached.sinceMs : maxAgeMs
    if (cached && ageMs < maxAgeMs) {
      // A failure is reported once the entry is too old.
      if (cached.value !== undefined && ageMs >= refreshMs) this.#load(name, load).catch(() => undefined)
      return this.#valueOf(cached)
    }
    return this.#load(name, load).then(entry => this.#valueOf(entry))
  }

  /** Invalidates a changed key, and all loads in flight. */
  drop(keyId: string): void {
    for (const [name, entry] of this.#found) if (entry.keyId === keyId) this.#found.delete(name)
    this.#dropLoading()
  }

  /** Invalidates everything, for when notifications may have been missed. */
  clear(): void {
    this.#found.clear()
    this.#missing.clear()
    this.#dropLoading()
  }

  #dropLoading(): void {
    this.#epoch++
    this.#loading.clear()
  }

  #load(name: string, load: () => Promise<CachedLookup<T>>): Promise<Entry<T>> {
    const pending = this.#loading.get(name)
    if (pending) return pending
    const epoch = this.#epoch
    // Taken before the lookup, so that the age is never underestimated.
    const sinceMs = this.#nowMs()
    const started = load()
      .then(lookup => {
        const entry = { ...lookup, sinceMs }
        if (epoch === this.#epoch) this.#store(name, entry)
        return entry
      })
      .finally(() => {
        if (this.#loading.get(name) === started) this.#loading.delete(name)
      })
    this.#loading.set(name, started)
    return started
  }

  #store(name: string, entry: Entry<T>): void {
    this.#found.delete(name)
    this.#missing.delete(name)
    const entries = entry.value === undefined ? this.#missing : this.#found
    entries.set(name, entry)
    const [oldest] = entries.keys()
    if (entries.size > this.#capacity && oldest !== undefined) entries.delete(oldest)
  }

  #valueOf({ value, ttlMs, sinceMs }: Entry<T>): T | undefined {
    return ttlMs !== null && this.#nowMs() - sinceMs >= ttlMs ? undefined : value
  }
}
