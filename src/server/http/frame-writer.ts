import type { ServerResponse } from 'node:http'
import type { WriteTurns } from './write-turns.ts'

/** Interval of heartbeats on idle streams. */
export const heartbeatMs = 10_000

const defaultSlowReaderMs = 30_000
/** Bytes that a stream writes without waiting for a turn. */
const freeBytes = 64 * 1024
/**
 * Bytes that a slow reader must read within `slowReaderMs`. Above the 4 MiB that a Linux socket buffers without a
 * reader.
 */
const progressBytes = 5 * 1024 * 1024

/** Headers of event streams. */
export const eventStreamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  'referrer-policy': 'no-referrer',
} as const

interface WriterOptions {
  /** Queue that all streams of the process share. */
  readonly turns: WriteTurns
  /** Milliseconds after which a reader that does not read is disconnected; default 30,000. */
  readonly slowReaderMs?: number | undefined
}

/**
 * Writes frames to one reader with backpressure; large amounts in turns with other streams. Disconnects a reader after
 * 30 s of waiting in which it read less than 5 MiB; the reader can resume later.
 */
export class FrameWriter {
  readonly #response: ServerResponse
  readonly #signal: AbortSignal
  readonly #turns: WriteTurns
  readonly #slowReaderMs: number
  /** Bytes since the last turn. */
  #written = 0
  #isQueued = false
  /** Time spent waiting for the reader, and bytes that it read meanwhile. */
  #waitedMs = 0
  #taken = 0
  #isDisconnected = false

  constructor(
    response: ServerResponse,
    signal: AbortSignal,
    { turns, slowReaderMs = defaultSlowReaderMs }: WriterOptions,
  ) {
    this.#response = response
    this.#signal = signal
    this.#turns = turns
    this.#slowReaderMs = slowReaderMs
  }

  /** True once the reader has disconnected or was disconnected. */
  get isOver(): boolean {
    return this.#isDisconnected || this.#signal.aborted
  }

  /** Writes an optional frame; drops it if the reader is behind. */
  offer(text: string): void {
    const isBehind = this.#isQueued || this.#response.writableNeedDrain
    if (!isBehind && !this.isOver) this.#response.write(text)
  }

  /** Writes a frame and waits for the reader. False once the reader has disconnected or was disconnected. */
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

  /** Resets the waiting time. Must be called when the reader has received everything. */
  caughtUp(): void {
    this.#waitedMs = 0
    this.#taken = 0
  }

  /** Ends the stream. Disconnects a reader that does not read the rest in time. */
  end(): void {
    this.#response.end()
    if (this.#response.destroyed) return
    const timer = setTimeout(() => void this.#disconnect(), this.#slowReaderMs)
    this.#response.once('close', () => clearTimeout(timer))
  }

  async #turn(): Promise<void> {
    const bytes = this.#written
    this.#written = 0
    this.#isQueued = true
    await this.#turns.take(bytes)
    this.#isQueued = false
  }

  /** In turns: the kernel frees megabytes per connection, and 200 at once would delay all other readers by 100 ms. */
  async #disconnect(): Promise<void> {
    this.#isDisconnected = true
    await this.#turns.takeWhole()
    this.#response.destroy()
  }

  #drained(): Promise<boolean> {
    return new Promise(resolve => {
      const settle = (drained: boolean) => {
        clearTimeout(timer)
        this.#response.off('drain', onDrain)
        this.#signal.removeEventListener('abort', onDisconnect)
        resolve(drained)
      }
      const onDrain = () => settle(true)
      const onDisconnect = () => settle(false)
      const timer = setTimeout(() => {
        void this.#disconnect()
        settle(false)
      }, this.#slowReaderMs - this.#waitedMs)
      this.#response.once('drain', onDrain)
      this.#signal.addEventListener('abort', onDisconnect, { once: true })
    })
  }
}
