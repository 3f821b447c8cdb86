import { AppError } from '../platform/errors.ts'
import type { Caller } from './caller.ts'

/** Event streams that one virtual key may have open in a process. */
const maxStreams = 200

/** Counts the event streams of each virtual key. Those of the master key are not limited. */
export class StreamSlots {
  readonly #open = new Map<string, number>()

  /** Takes one; call what it returns when the stream has ended. Throws `rate_limited`. */
  take({ key }: Pick<Caller, 'key'>): () => void {
    if (!key) return () => undefined
    const count = this.#open.get(key.id) ?? 0
    if (count >= maxStreams) {
      throw new AppError(
        'rate_limited',
        `this key has ${maxStreams} event streams open, the most it may have; close one`,
        {
          headers: { 'retry-after': '5' },
        },
      )
    }
    this.#open.set(key.id, count + 1)
    return () => this.#release(key.id)
  }

  #release(id: string): void {
    const left = (this.#open.get(id) ?? 1) - 1
    if (left > 0) this.#open.set(id, left)
    else this.#open.delete(id)
  }
}
