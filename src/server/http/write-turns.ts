/**
 * What all streams of the process may write before other work has its turn: about 0.3 ms of copying. An event passes through
 * several turns on its way, so 1 MiB made it 4 ms later while 200 readers had their backlogs.
 */
const bytesPerTurn = 256 * 1024

/**
 * Who may write much: in the order of asking, so many bytes each time the event loop comes round. A stream with a backlog
 * would otherwise write all of it at once, and hundreds of them would hold up everything else for seconds.
 */
export class WriteTurns {
  readonly #waiting: { readonly bytes: number; readonly begin: () => void }[] = []
  #isScheduled = false

  /** Resolves when the caller may write that many bytes. */
  take(bytes: number): Promise<void> {
    return new Promise(begin => {
      this.#waiting.push({ bytes, begin })
      this.#schedule()
    })
  }

  /** Resolves when the caller may do what takes as long as a whole turn of writing. */
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

/** Of this process: it has one event loop. */
export const writeTurns = new WriteTurns()
