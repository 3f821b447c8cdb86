/** What a look-up has found, and how long it stays true. */
export interface Remembered<T> {
  /** Undefined: the name opens nothing. */
  readonly value: T | undefined
  /** Names the key, so that it can be dropped; undefined where nothing was found. */
  readonly keyId: string | undefined
  /** From the look-up on, in ms; null: for as long as it is remembered. */
  readonly restMs: number | null
}

interface Entry<T> extends Remembered<T> {
  readonly sinceMs: number
}

interface Options {
  /** Monotonic. */
  readonly nowMs: () => number
  /** Answers kept at most, of each sort: found and not found. */
  readonly capacity?: number
}

const maxAgeMs = 5_000
/** From then on a key that is used is looked up anew beside its calls, so that none of them waits for that. */
const refreshMs = 4_000
const defaultCapacity = 10_000

/**
 * Remembers what keys open, for 5 s at most. Names are whole digests, never parts of one. A flood of wrong keys pushes out
 * other wrong keys, and none that is right. Security: S06.
 */
export class KeyCache<T> {
  readonly #found = new Map<string, Entry<T>>()
  readonly #missing = new Map<string, Entry<T>>()
  readonly #loading = new Map<string, Promise<Entry<T>>>()
  readonly #nowMs: () => number
  readonly #capacity: number
  /** Counts the times that something was forgotten. */
  #epoch = 0

  constructor({ nowMs, capacity = defaultCapacity }: Options) {
    this.#nowMs = nowMs
    this.#capacity = capacity
  }

  /** What `name` opens: at once when it is remembered, else as `load` says. Many at a time load once. */
  get(name: string, load: () => Promise<Remembered<T>>): T | undefined | Promise<T | undefined> {
    const known = this.#found.get(name) ?? this.#missing.get(name)
    const ageMs = known ? this.#nowMs() - known.sinceMs : maxAgeMs
    if (known && ageMs < maxAgeMs) {
      // Whoever asks once it is too old hears of a failure.
      if (known.value !== undefined && ageMs >= refreshMs) this.#load(name, load).catch(() => undefined)
      return this.#valueOf(known)
    }
    return this.#load(name, load).then(entry => this.#valueOf(entry))
  }

  /** Forgets a key that has changed, and does not keep what is being read just now. */
  drop(keyId: string): void {
    for (const [name, entry] of this.#found) if (entry.keyId === keyId) this.#found.delete(name)
    this.#forgetLoading()
  }

  /** Forgets all: changes may have been missed. */
  clear(): void {
    this.#found.clear()
    this.#missing.clear()
    this.#forgetLoading()
  }

  #forgetLoading(): void {
    this.#epoch++
    this.#loading.clear()
  }

  #load(name: string, load: () => Promise<Remembered<T>>): Promise<Entry<T>> {
    const pending = this.#loading.get(name)
    if (pending) return pending
    const epoch = this.#epoch
    // From before the look-up, so that its age is never taken for less than it is.
    const sinceMs = this.#nowMs()
    const started = load()
      .then(remembered => {
        const entry = { ...remembered, sinceMs }
        if (epoch === this.#epoch) this.#keep(name, entry)
        return entry
      })
      .finally(() => {
        if (this.#loading.get(name) === started) this.#loading.delete(name)
      })
    this.#loading.set(name, started)
    return started
  }

  #keep(name: string, entry: Entry<T>): void {
    this.#found.delete(name)
    this.#missing.delete(name)
    const entries = entry.value === undefined ? this.#missing : this.#found
    entries.set(name, entry)
    const [oldest] = entries.keys()
    if (entries.size > this.#capacity && oldest !== undefined) entries.delete(oldest)
  }

  #valueOf({ value, restMs, sinceMs }: Entry<T>): T | undefined {
    return restMs !== null && this.#nowMs() - sinceMs >= restMs ? undefined : value
  }
}
