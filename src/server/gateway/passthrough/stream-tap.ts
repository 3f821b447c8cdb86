import { FrameSplitter } from '../bytes/event-frames.ts'
import { malformed, openText, stringEnd } from '../bytes/json-scanner.ts'
import { noTokens, type TokenCounts } from '../tokens/token-counts.ts'
import type { UpstreamFault, UsageTap } from './passthrough-format.ts'

const bytesPerToken = 4

/**
 * Base of the taps for server-sent events: splits the frames and holds the results. Subclasses interpret the frames.
 */
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
  /** True once the upstream has reported the output tokens. */
  protected hasFinalCount = false
  /** Bytes of text, thinking and arguments so far. */
  protected contentBytes = 0
  /** True for the last frame, which may be truncated. */
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

  /** True once the output of a response may be estimated. */
  protected get isCounting(): boolean {
    return this.frames > 0
  }

  /** Counts the string that starts at `at` as content; a truncated one up to the end of the frame. */
  protected countString(frame: Buffer, at: number): void {
    const end = stringEnd(openText(frame), at)
    this.contentBytes += (end === malformed ? frame.length : end) - at - 2
  }

  protected abstract onFrame(frame: Buffer): void
}
