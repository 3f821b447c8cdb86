import type { Sink } from '../core/call.ts'

/** An answer on its way to the client. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly isStream: boolean
  readonly chunks: readonly Buffer[]
  /** True: it ended before it was whole, and cannot state that itself. */
  readonly isCut: boolean
}

interface Options {
  readonly sink: Sink
  /** `hold`: nothing goes to the sink. `copy`: the answer passes, and is kept as well. */
  readonly wayOf: (isStream: boolean) => 'hold' | 'copy'
  /** Whether a held answer that is too long to be kept goes to the sink; else it is dropped. */
  readonly mayPass: (isStream: boolean) => boolean
  readonly maxBytes: number
}

const isEventStream = (headers: Answer['headers']): boolean =>
  headers['content-type']?.startsWith('text/event-stream') === true

/** Sends an answer to `sink` as it is. */
export function sendAnswer({ status, headers, chunks, isCut }: Answer, sink: Sink): void {
  sink.head(status, headers)
  const isEnded = !isCut || !sink.cut
  const last = isEnded ? chunks.at(-1) : undefined
  for (const chunk of last ? chunks.slice(0, -1) : chunks) sink.data(chunk)
  if (isEnded) sink.end(last)
  else sink.cut?.()
}

/** A sink that keeps a successful answer for hooks, up to a limit. Errors pass: no model said them. */
export class AnswerTap implements Sink {
  readonly #options: Options
  #head: Pick<Answer, 'status' | 'headers' | 'isStream'> | undefined
  #passes = true
  #isKept = false
  #isTooLong = false
  #isCut = false
  #chunks: Buffer[] = []
  #bytes = 0

  constructor(options: Options) {
    this.#options = options
  }

  /** True when nothing of the answer went to the sink. */
  get isHeld(): boolean {
    return !this.#passes
  }

  /** True when the answer was longer than can be kept. */
  get isTooLong(): boolean {
    return this.#isTooLong
  }

  get isStream(): boolean {
    return this.#head?.isStream ?? false
  }

  /** The answer so far; undefined where it was not kept. */
  get answer(): Answer | undefined {
    if (!this.#head || !this.#isKept) return undefined
    return { ...this.#head, chunks: this.#chunks, isCut: this.#isCut }
  }

  head(status: number, headers: Answer['headers']): void {
    const isStream = isEventStream(headers)
    this.#head = { status, headers, isStream }
    this.#isKept = status >= 200 && status < 300
    this.#passes = !this.#isKept || this.#options.wayOf(isStream) === 'copy'
    if (this.#passes) this.#options.sink.head(status, headers)
  }

  data(chunk: Buffer): boolean {
    this.#keep(chunk)
    return this.#passes ? this.#options.sink.data(chunk) : true
  }

  onDrain(resume: () => void): void {
    if (this.#passes) this.#options.sink.onDrain(resume)
    else resume()
  }

  end(chunk?: Buffer): void {
    if (chunk) this.#keep(chunk)
    if (this.#passes) this.#options.sink.end(chunk)
  }

  cut(): void {
    this.#isCut = true
    if (!this.#passes) return
    const { sink } = this.#options
    if (sink.cut) sink.cut()
    else sink.end()
  }

  #keep(chunk: Buffer): void {
    if (!this.#isKept) return
    this.#bytes += chunk.length
    if (this.#bytes > this.#options.maxBytes) this.#letGo()
    else this.#chunks.push(chunk)
  }

  #letGo(): void {
    const { sink, mayPass } = this.#options
    if (this.isHeld && this.#head && mayPass(this.#head.isStream)) {
      this.#passes = true
      sink.head(this.#head.status, this.#head.headers)
      for (const chunk of this.#chunks) sink.data(chunk)
    }
    this.#isTooLong = true
    this.#isKept = false
    this.#chunks = []
  }
}
