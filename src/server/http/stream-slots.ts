import { AppError } from '../platform/errors.ts'
import type { Caller } from './caller.ts'

/** Maximum open event streams per virtual key and process. */
const maxStreams = 200

/** Limits the event streams of each virtual key. The master key is not limited. */
export class StreamSlots {
  readonly #open = new Map<string, number>()
  #total = 0

  /** Open event streams of all callers. */
  get total(): number {
    return this.#total
  }

  /**
   * Acquires a slot. The returned function releases it and must be called when the stream ends. Throws `rate_limited`.
   */
  take({ key }: Pick<Caller, 'key'>): () => void {
    if (!key) return this.#opened(() => undefined)
    const count = this.#open.get(key.id) ?? 0
    if (count >= maxStreams) {
      throw new AppError(
        'rate_limited',
        `this key has reached its limit of ${maxStreams} open event streams; close one and retry after 5 s`,
        {
          headers: { 'retry-after': '5' },
        },
      )
    }
    this.#open.set(key.id, count + 1)
    return this.#opened(() => this.#release(key.id))
  }

  /** Counts a stream until the returned function is called first. */
  #opened(release: () => void): () => void {
    this.#total++
    let isOpen = true
    return () => {
      if (isOpen) this.#total--
      isOpen = false
      release()
    }
  }

  #release(id: string): void {
    const left = (this.#open.get(id) ?? 1) - 1
    if (left > 0) this.#open.set(id, left)
    else this.#open.delete(id)
  }
}
