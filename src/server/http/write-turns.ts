/**
 * Bytes that all streams of the process may write per event loop turn, about 0.3 ms of copying. An event passes through
 * several turns, so 1 MiB delayed events by 4 ms while 200 readers had a backlog.
 */
const bytesPerTurn = 256 * 1024

/**
 * Queue of large writes: grants a number of bytes per event loop turn, first come, first served. Otherwise a stream
 * with a backlog would write all of it at once, and hundreds of them would block the event loop for seconds. All
 * streams of a process share one queue.
 */
export class WriteTurns {
  readonly #waiting: { readonly bytes: number; readonly begin: () => void }[] = []
  #isScheduled = false

  /** Resolves once the caller may write `bytes` bytes. */
  take(bytes: number): Promise<void> {
    return new Promise(begin => {
      this.#waiting.push({ bytes, begin })
      this.#schedule()
    })
  }

  /** Resolves once the caller may do work that takes as long as a whole turn. */
  takeWhole(): Promise<void> {
    return this.take(bytesPerTurn)
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.length === 0) return
    this.#isScheduled = true
    setImmediate(() => this.#begin())
  }

  #begin(): void {
    this.#isScheduled = false
    let room = bytesPerTurn
    let count = 0
    for (const { bytes, begin } of this.#waiting) {
      if (count > 0 && bytes > room) break
      room -= bytes
      count++
      begin()
    }
    this.#waiting.splice(0, count)
    this.#schedule()
  }
}
