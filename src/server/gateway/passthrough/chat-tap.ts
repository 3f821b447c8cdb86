import { isRecord, listOf, recordOf } from '../../platform/json.ts'
import { dataOf, readFrame } from '../bytes/event-frames.ts'
import { isFailedFinish } from '../formats/openai-chat/errors.ts'
import { chatUsageIn } from '../tokens/stated-usage.ts'
import { faultOf } from './answers.ts'
import { ChoiceEnds } from './choice-ends.ts'
import type { UsageTap } from './passthrough-format.ts'
import { StreamTap } from './stream-tap.ts'

/** Matches a chunk that holds more than text. Usage and finish reason are null in most chunks. */
const telling = /"(?:finish_reason|usage|error)"\s*:\s*[^\sn]|"index"\s*:\s*[1-9]|\[DONE\]/
/** Start of the text of a delta. */
const textStart = /"(?:content|reasoning_content|reasoning|arguments|refusal)"\s*:\s*"/

/** Returns a tap that reads usage from a Chat Completions stream. */
export const createChatTap = (): UsageTap => new ChatTap()

class ChatTap extends StreamTap {
  override readonly takesPings = true
  readonly #ends = new ChoiceEnds()

  override get hasContent(): boolean {
    return this.isUnderWay
  }

  protected override onFrame(frame: Buffer): void {
    const text = frame.toString('latin1')
    if (!text.includes('data:')) return
    const found = textStart.exec(text)
    if (found) this.countString(frame, found.index + found[0].length - 1)
    if (this.isUnderWay && this.isAnswering && !this.isFinishing && !telling.test(text)) {
      this.frames++
      return
    }
    const data = dataOf(frame)
    if (data) this.#onData(data)
    else if (readFrame(frame)?.data.trim() === '[DONE]') this.end ??= 'stop'
  }

  #onData(data: Readonly<Record<string, unknown>>): void {
    this.frames++
    if (isRecord(data['error']) || typeof data['error'] === 'string') {
      this.fault ??= faultOf(data)
      this.end ??= 'error'
      return
    }
    const update = chatUsageIn(data)
    if (update) {
      this.counts = { ...this.counts, ...update }
      this.hasFinalCount ||= update.output_tokens !== undefined
    }
    const choices = listOf(data['choices']).map(recordOf)
    const failed = choices.find(({ finish_reason: reason }) => isFailedFinish(reason))
    if (failed) {
      this.fault ??= faultOf(failed)
      this.end ??= 'error'
    }
    this.#ends.take(data)
    this.stopReason = this.#ends.reason
    if (this.end === undefined && choices.some(hasContent)) this.isUnderWay = true
    if (choices.some(isAnswer)) this.isAnswering = true
    if (choices.some(isDeclined)) this.hasDeclined = true
    if (this.#ends.areComplete) this.end ??= 'stop'
  }
}

/** Reports whether a choice of a chunk holds more than the role. */
function hasContent({ delta, finish_reason: reason }: Readonly<Record<string, unknown>>): boolean {
  if (typeof reason === 'string') return true
  return Object.entries(recordOf(delta)).some(([name, value]) => name !== 'role' && hasSubstance(value))
}

/** Reports whether a choice of a chunk holds more than a refusal. */
function isAnswer({ delta, finish_reason: reason }: Readonly<Record<string, unknown>>): boolean {
  // A refusal in text ends with `stop`, as a normal answer does.
  if (typeof reason === 'string' && !/^(content_filter|stop)$/.test(reason)) return true
  return Object.entries(recordOf(delta)).some(
    ([name, value]) => name !== 'role' && name !== 'refusal' && hasSubstance(value),
  )
}

const isDeclined = ({ delta, finish_reason: reason }: Readonly<Record<string, unknown>>): boolean =>
  reason === 'content_filter' || hasSubstance(recordOf(delta)['refusal'])

function hasSubstance(value: unknown): boolean {
  if (Array.isArray(value) || typeof value === 'string') return value.length > 0
  return value !== null && value !== undefined
}
