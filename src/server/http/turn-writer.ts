import type { ServerResponse } from 'node:http'

/** Above this, what has gathered is written at once: a reader that does not keep up must be noticed in the same turn. */
const maxGatheredBytes = 16 * 1024

const lineEnd = '\r\n'
const lastChunk = '0\r\n\r\n'

/**
 * Writes the body of a streamed answer. All pieces of one turn of the event loop leave as one chunk, framed here in one
 * buffer: Node hands four pieces to the kernel for each write, which costs a third more CPU time for an event of a model.
 */
export class TurnWriter {
  readonly #response: ServerResponse
  readonly #isChunked: boolean
  #pieces: Buffer[] = []
  #bytes = 0
  #isScheduled = false

  /** `response` must have its head already, and nothing else may write to it. */
  constructor(response: ServerResponse) {
    this.#response = response
    this.#isChunked = response.chunkedEncoding
    // The head is written: from here on Node passes bytes on as they are. It keeps the connection, as the head says.
    response.chunkedEncoding = false
  }

  /** False when the reader is behind: wait for `drain` of the response. */
  write(piece: Buffer): boolean {
    if (piece.length === 0) return !this.#response.writableNeedDrain
    this.#pieces.push(piece)
    this.#bytes += piece.length
    if (this.#bytes > maxGatheredBytes) return this.#flush('')
    if (!this.#isScheduled) {
      this.#isScheduled = true
      process.nextTick(onTurnEnd, this)
    }
    return !this.#response.writableNeedDrain
  }

  end(piece?: Buffer): void {
    if (piece !== undefined && piece.length > 0) {
      this.#pieces.push(piece)
      this.#bytes += piece.length
    }
    this.#flush(lastChunk)
    this.#response.end()
  }

  turnEnded(): void {
    this.#isScheduled = false
    if (this.#bytes > 0) this.#flush('')
  }

  /** Writes what has gathered, with `tail` behind it when the body is chunked. */
  #flush(tail: string): boolean {
    const response = this.#response
    const body = this.#isChunked ? framed(this.#pieces, this.#bytes, tail) : Buffer.concat(this.#pieces, this.#bytes)
    this.#pieces = []
    this.#bytes = 0
    if (body.length === 0 || response.destroyed) return true
    // Corked by hand, so that it leaves now and not after another turn.
    response.cork()
    const hasRoom = response.write(body)
    response.uncork()
    return hasRoom
  }
}

const onTurnEnd = (writer: TurnWriter): void => writer.turnEnded()

/** One chunk of a body, as HTTP/1.1 frames it; nothing but `tail` when there are no bytes. Source: RFC 9112, section 7.1. */
function framed(pieces: readonly Buffer[], bytes: number, tail: string): Buffer {
  const head = bytes === 0 ? '' : bytes.toString(16) + lineEnd
  const foot = bytes === 0 ? tail : lineEnd + tail
  const frame = Buffer.allocUnsafe(head.length + bytes + foot.length)
  let at = frame.write(head, 'latin1')
  for (const piece of pieces) {
    frame.set(piece, at)
    at += piece.length
  }
  frame.write(foot, at, 'latin1')
  return frame
}
