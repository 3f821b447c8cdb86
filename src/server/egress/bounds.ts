import { Transform, type TransformCallback } from 'node:stream'

/** Limits of the connections of one command or program. */
export const egressLimits = {
  /** Connections to the proxy at a time. */
  connections: 64,
  connectMs: 10_000,
  /** Time without data in either direction. */
  idleMs: 120_000,
  /** Duration of a tunnel. */
  totalMs: 3_600_000,
  /** Bytes in one direction of a tunnel or request. */
  bytes: 1024 * 1024 * 1024,
  /** Origins with open connections. */
  origins: 16,
} as const

/** Counts the bytes that pass through, and fails beyond the limit. */
export class ByteCount extends Transform {
  bytes = 0
  readonly #limit: number

  constructor(limit: number = egressLimits.bytes) {
    super()
    this.#limit = limit
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.bytes += chunk.length
    if (this.bytes > this.#limit) done(new Error(`more than ${this.#limit} bytes in one direction`))
    else done(null, chunk)
  }
}
