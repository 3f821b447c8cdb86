import { jsonOr } from '../../platform/json.ts'
import { dataOf, readFrame } from '../bytes/event-frames.ts'
import { faultOf } from '../passthrough/answers.ts'
import { ChoiceEnds } from '../passthrough/choice-ends.ts'
import { StreamTap } from '../passthrough/stream-tap.ts'
import { noTokens, type TokenCounts } from '../tokens/token-counts.ts'
import { type Stated, statedIn } from './answer.ts'

const usageText = /"usage"\s*:\s*(\{(?:[^{}]|\{[^{}]*\})*\})/
/** Events that end the stream of an image, of speech or of a transcript. */
const finished = /"type"\s*:\s*"(?:image_(?:generation|edit)\.completed|speech\.audio\.done|transcript\.text\.done)"/
const failed = /"type"\s*:\s*"(?:error|[\w.]+\.failed)"|^\s*data:\s*\{\s*"error"\s*:\s*["{]/m
const textStart = /"text"\s*:\s*"/

/**
 * Reads usage from the event streams of completions, images, speech and transcriptions. The middle of a frame with an
 * image may be missing, so counts are searched in its text.
 */
export class EndpointTap extends StreamTap {
  override readonly takesPings = true
  #stated: Stated = { units: {} }
  #images = 0
  readonly #ends = new ChoiceEnds()

  /** Counts that the stream has reported so far. */
  get stated(): Stated {
    const image = this.#images > 0 && { image: this.#images }
    return { ...this.#stated, units: { ...this.#stated.units, ...image } }
  }

  override get hasContent(): boolean {
    return this.isUnderWay
  }

  override get usage(): TokenCounts {
    const { usage } = this.#stated
    return usage ? { ...noTokens, ...usage } : super.usage
  }

  protected override onFrame(frame: Buffer): void {
    const text = frame.toString('latin1')
    if (!text.includes('data:')) return
    if (text.length < 64 && readFrame(frame)?.data.trim() === '[DONE]') {
      this.end ??= 'stop'
      return
    }
    this.frames++
    if (failed.test(text)) {
      this.fault ??= faultOf(dataOf(frame))
      this.end ??= 'error'
      return
    }
    if (this.end === undefined) this.isUnderWay = true
    this.#note(frame, text)
  }

  #note(frame: Buffer, text: string): void {
    const found = textStart.exec(text)
    if (found) this.countString(frame, found.index + found[0].length - 1)
    const usage = usageText.exec(text)?.[1]
    if (usage !== undefined) this.#add(statedIn(jsonOr(usage, undefined)))
    if (text.includes('"choices"')) this.#noteChoices(frame)
    if (!finished.test(text)) return
    if (text.includes('image_')) this.#images++
    this.end ??= 'stop'
  }

  #noteChoices(frame: Buffer): void {
    this.#ends.take(dataOf(frame) ?? {})
    this.stopReason = this.#ends.reason
    if (this.#ends.areComplete) this.end ??= 'stop'
  }

  /** Adds the usage of a finished image: each image of a stream reports its own usage. */
  #add({ usage, units }: Stated): void {
    const before = this.#images > 0 ? this.#stated : undefined
    const sum = (one: number | undefined, other: number | undefined): number => (one ?? 0) + (other ?? 0)
    this.#stated = {
      usage: usage && {
        input_tokens: sum(before?.usage?.input_tokens, usage.input_tokens),
        cache_read_tokens: sum(before?.usage?.cache_read_tokens, usage.cache_read_tokens),
        output_tokens: sum(before?.usage?.output_tokens, usage.output_tokens),
      },
      units: before ? { ...units, image_token: sum(before.units.image_token, units.image_token) } : units,
    }
  }
}
