import { FrameSplitter } from '../bytes/event-frames.ts'
import { broken, openText, stringEnd } from '../bytes/json-scanner.ts'
import { noTokens, type TokenCounts } from '../tokens/token-counts.ts'
import type { UpstreamFault, UsageTap } from './wire.ts'

const bytesPerToken = 4

/** What all taps keep while they read along; what a frame means is their own. */
export abstract class StreamTap implements UsageTap {
  abstract readonly takesPings: boolean
  abstract readonly hasContent: boolean
  stopReason: string | undefined
  isUnderWay = false
  isAnswering = false
  hasDeclined = false
  end: UsageTap['end']
  fault: UpstreamFault | undefined
  frames = 0
  protected counts: TokenCounts = noTokens
  /** True once the upstream has stated the output. */
  protected hasFinalCount = false
  /** Of text, thinking and arguments so far. */
  protected contentBytes = 0
  /** True for the last frame, of which more may be missing than its empty line. */
  protected isFinishing = false
  readonly #splitter = new FrameSplitter(frame => this.onFrame(frame))

  push(chunk: Buffer): number {
    return this.#splitter.push(chunk)
  }

  finish(): void {
    this.isFinishing = true
    this.#splitter.finish()
  }

  get usage(): TokenCounts {
    if (!this.isCounting || this.hasFinalCount) return this.counts
    const sent = Math.max(this.counts.output_tokens, Math.ceil(this.contentBytes / bytesPerToken))
    return { ...this.counts, output_tokens: sent, estimated: true }
  }

  /** True once there is an answer whose output may be guessed. */
  protected get isCounting(): boolean {
    return this.frames > 0
  }

  /** Counts the string that begins at `at` as content; one whose end is missing, to the end of the frame. */
  protected countString(frame: Buffer, at: number): void {
    const end = stringEnd(openText(frame), at)
    this.contentBytes += (end === broken ? frame.length : end) - at - 2
  }

  protected abstract onFrame(frame: Buffer): void
}
