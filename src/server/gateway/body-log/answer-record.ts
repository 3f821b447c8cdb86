import { statusOfCode } from '../../../contract/error-codes.ts'
import type { AppError } from '../../platform/errors.ts'
import type { Sink } from '../core/call.ts'

/** Recorded bytes of each body. Bounds the time of the search for secrets, which reads every byte. */
export const maxBytes = 256 * 1024

/** Sink that records the beginning of an answer. */
export class AnswerRecord implements Sink {
  readonly #sink: Sink
  readonly #chunks: Buffer[] = []
  #bytes = 0
  #status: number | null = null
  #contentType: string | null = null
  deployment: string | undefined
  readonly cut?: () => void

  constructor(sink: Sink) {
    this.#sink = sink
    if (sink.cut) this.cut = () => sink.cut?.()
  }

  head(status: number, headers: Readonly<Record<string, string>>): void {
    this.#status = status
    this.#contentType = headers['content-type'] ?? null
    this.deployment = headers['x-switchyard-deployment']
    this.#sink.head(status, headers)
  }

  data(chunk: Buffer): boolean {
    this.#record(chunk)
    return this.#sink.data(chunk)
  }

  onDrain(resume: () => void): void {
    this.#sink.onDrain(resume)
  }

  end(chunk?: Buffer): void {
    if (chunk) this.#record(chunk)
    this.#sink.end(chunk)
  }

  /** Records an error, which the client gets in the envelope of its format. */
  rejected({ code, message, headers }: AppError): void {
    this.#status = statusOfCode(code)
    this.#contentType = 'text/plain'
    this.deployment = headers['x-switchyard-deployment']
    this.#record(Buffer.from(message))
  }

  recorded() {
    const isText = this.#contentType === null || textTypes.test(this.#contentType)
    const body = isText ? Buffer.concat(this.#chunks) : null
    return {
      status: this.#status,
      content_type: this.#contentType,
      body,
      truncated: isText && this.#bytes > maxBytes,
    }
  }

  #record(chunk: Buffer): void {
    const room = maxBytes - this.#bytes
    this.#bytes += chunk.length
    if (room > 0) this.#chunks.push(chunk.subarray(0, room))
  }
}

const textTypes = /^(text\/|application\/(json|x-ndjson|[\w.-]+\+json))/
