import type { Sink } from '../core/call.ts'

/** A recorded answer. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly isStream: boolean
  readonly chunks: readonly Buffer[]
  /** True: the answer is incomplete, in a format that cannot report a failure in the stream. */
  readonly isCut: boolean
}

interface Options {
  readonly sink: Sink
  /** `buffer`: nothing is sent to the sink. `copy`: the answer is sent, and recorded as well. */
  readonly modeOf: (isStream: boolean) => 'buffer' | 'copy'
  /** Whether a buffered answer that exceeds `maxBytes` is sent to the sink; else it is dropped. */
  readonly mayPass: (isStream: boolean) => boolean
  readonly maxBytes: number
}

const isEventStream = (headers: Answer['headers']): boolean =>
  headers['content-type']?.startsWith('text/event-stream') === true

/** Sends a recorded answer to `sink`. */
export function sendAnswer({ status, headers, chunks, isCut }: Answer, sink: Sink): void {
  sink.head(status, headers)
  const isEnded = !isCut || !sink.cut
  const last = isEnded ? chunks.at(-1) : undefined
  for (const chunk of last ? chunks.slice(0, -1) : chunks) sink.data(chunk)
  if (isEnded) sink.end(last)
  else sink.cut?.()
}

/** Sink that records a successful answer for hooks, up to a limit. Error responses are sent directly. */
export class AnswerTap implements Sink {
  readonly #options: Options
  #head: Pick<Answer, 'status' | 'headers' | 'isStream'> | undefined
  #passes = true
  #isRecorded = false
  #isTooLong = false
  #isCut = false
  #chunks: Buffer[] = []
  #bytes = 0

  constructor(options: Options) {
    this.#options = options
  }

  /** True when no part of the answer was sent to the sink. */
  get isBuffered(): boolean {
    return !this.#passes
  }

  /** True when the answer exceeded `maxBytes`. */
  get isTooLong(): boolean {
    return this.#isTooLong
  }

  get isStream(): boolean {
    return this.#head?.isStream ?? false
  }

  /** The recorded answer so far; undefined where it is not recorded. */
  get answer(): Answer | undefined {
    if (!this.#head || !this.#isRecorded) return undefined
    return { ...this.#head, chunks: this.#chunks, isCut: this.#isCut }
  }

  head(status: number, headers: Answer['headers']): void {
    const isStream = isEventStream(headers)
    this.#head = { status, headers, isStream }
    this.#isRecorded = status >= 200 && status < 300
    this.#passes = !this.#isRecorded || this.#options.modeOf(isStream) === 'copy'
    if (this.#passes) this.#options.sink.head(status, headers)
  }

  data(chunk: Buffer): boolean {
    this.#record(chunk)
    return this.#passes ? this.#options.sink.data(chunk) : true
  }

  onDrain(resume: () => void): void {
    if (this.#passes) this.#options.sink.onDrain(resume)
    else resume()
  }

  end(chunk?: Buffer): void {
    if (chunk) this.#record(chunk)
    if (this.#passes) this.#options.sink.end(chunk)
  }

  cut(): void {
    this.#isCut = true
    if (!this.#passes) return
    const { sink } = this.#options
    if (sink.cut) sink.cut()
    else sink.end()
  }

  #record(chunk: Buffer): void {
    if (!this.#isRecorded) return
    this.#bytes += chunk.length
    if (this.#bytes > this.#options.maxBytes) this.#stopRecording()
    else this.#chunks.push(chunk)
  }

  #stopRecording(): void {
    const { sink, mayPass } = this.#options
    if (this.isBuffered && this.#head && mayPass(this.#head.isStream)) {
      this.#passes = true
      sink.head(this.#head.status, this.#head.headers)
      for (const chunk of this.#chunks) sink.data(chunk)
    }
    this.#isTooLong = true
    this.#isRecorded = false
    this.#chunks = []
  }
}
