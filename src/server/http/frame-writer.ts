import type { ServerResponse } from 'node:http'
import { writeTurns } from './write-turns.ts'

/** How often a stream that has nothing to say shows that it is alive. */
export const heartbeatMs = 10_000

const defaultSlowReaderMs = 30_000
/** What a stream writes without waiting for a turn. */
const freeBytes = 64 * 1024
/** What a reader must take while it is waited for: more than a socket takes that nobody reads, 4 MiB on Linux, in steps over many seconds. */
const progressBytes = 5 * 1024 * 1024

/** Of every answer that is a stream of events. */
export const eventStreamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  'referrer-policy': 'no-referrer',
} as const

/**
 * Writes frames to one reader, much of it in turns with others, and waits for it. A reader that was waited for 30 s since it
 * had all, and took less than 5 MiB meanwhile, is cut; it resumes later.
 */
export class FrameWriter {
  readonly #response: ServerResponse
  readonly #signal: AbortSignal
  readonly #slowReaderMs: number
  /** Bytes since the last turn. */
  #written = 0
  #isQueued = false
  /** How long the reader was waited for, and what it took meanwhile. */
  #waitedMs = 0
  #taken = 0
  #isCut = false

  constructor(response: ServerResponse, signal: AbortSignal, slowReaderMs = defaultSlowReaderMs) {
    this.#response = response
    this.#signal = signal
    this.#slowReaderMs = slowReaderMs
  }

  /** True when the reader is gone or was cut: nothing can be written any more. */
  get isOver(): boolean {
    return this.#isCut || this.#signal.aborted
  }

  /** Writes what may be lost, unless the reader is behind. */
  offer(text: string): void {
    const isBehind = this.#isQueued || this.#response.writableNeedDrain
    if (!isBehind && !this.isOver) this.#response.write(text)
  }

  /** False when the reader is gone or was cut. */
  async write(frame: string | Buffer): Promise<boolean> {
    const bytes = Buffer.byteLength(frame)
    this.#written += bytes
    if (this.#written > freeBytes) await this.#turn()
    if (this.isOver) return false
    if (this.#response.write(frame)) return true
    const startedMs = performance.now()
    if (!(await this.#drained())) return false
    this.#waitedMs += performance.now() - startedMs
    this.#taken += bytes
    if (this.#taken >= progressBytes) this.caughtUp()
    return true
  }

  /** The reader has all that there is: what it was waited for so far does not count any more. */
  caughtUp(): void {
    this.#waitedMs = 0
    this.#taken = 0
  }

  /** Ends the stream; a reader that does not take the rest in time is cut. */
  end(): void {
    this.#response.end()
    if (this.#response.destroyed) return
    const timer = setTimeout(() => void this.#cut(), this.#slowReaderMs)
    this.#response.once('close', () => clearTimeout(timer))
  }

  async #turn(): Promise<void> {
    const bytes = this.#written
    this.#written = 0
    this.#isQueued = true
    await writeTurns.take(bytes)
    this.#isQueued = false
  }

  /** The system frees megabytes for each such connection: 200 of them at once would hold up all other readers by 100 ms. */
  async #cut(): Promise<void> {
    this.#isCut = true
    await writeTurns.takeWhole()
    this.#response.destroy()
  }

  #drained(): Promise<boolean> {
    return new Promise(resolve => {
      const settle = (drained: boolean) => {
        clearTimeout(timer)
        this.#response.off('drain', onDrain)
        this.#signal.removeEventListener('abort', onGone)
        resolve(drained)
      }
      const onDrain = () => settle(true)
      const onGone = () => settle(false)
      const timer = setTimeout(() => {
        void this.#cut()
        settle(false)
      }, this.#slowReaderMs - this.#waitedMs)
      this.#response.once('drain', onDrain)
      this.#signal.addEventListener('abort', onGone, { once: true })
    })
  }
}
