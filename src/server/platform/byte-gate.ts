interface Waiting {
  readonly bytes: number
  readonly start: () => void
}

/** Limits the memory of concurrent work. Work starts in FIFO order, so that large work is not starved. */
export class ByteGate {
  readonly #limitBytes: number
  #usedBytes = 0
  readonly #waiting: Waiting[] = []

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  get usedBytes(): number {
    return this.#usedBytes
  }

  /**
   * Runs `work` once `bytes` are free; more than the limit counts as the limit. Rejects with the reason of the signal.
   */
  async run<T>(bytes: number, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const counted = Math.min(bytes, this.#limitBytes)
    await this.#acquire(counted, signal)
    try {
      return await work()
    } finally {
      this.#usedBytes -= counted
      this.#startNext()
    }
  }

  #acquire(bytes: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
        reject(signal.reason)
        this.#startNext()
      }
      const start = () => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      const waiting: Waiting = { bytes, start }
      signal.addEventListener('abort', leave, { once: true })
      this.#waiting.push(waiting)
      this.#startNext()
    })
  }

  #startNext(): void {
    for (
      let next = this.#waiting[0];
      next && this.#usedBytes + next.bytes <= this.#limitBytes;
      next = this.#waiting[0]
    ) {
      this.#waiting.shift()
      this.#usedBytes += next.bytes
      next.start()
    }
  }
}
