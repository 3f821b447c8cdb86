import { isRecord, type Json, nonEmptyText, recordOf, recordsOf } from '../../platform/json.ts'
import { dataOf } from '../bytes/event-frames.ts'
import { isDeclinedBy } from '../formats/gemini/read-answer.ts'
import { geminiUsageOf, geminiUsageReader } from '../tokens/stated-usage.ts'
import { faultOf } from './answers.ts'
import type { UsageTap } from './passthrough-format.ts'
import { StreamTap } from './stream-tap.ts'

/** Returns a tap that reads usage from Google's `streamGenerateContent`. */
export const createGeminiTap = (): UsageTap => new GeminiTap()

class GeminiTap extends StreamTap {
  override readonly takesPings = true
  override hasContent = false
  readonly #readUsage = geminiUsageReader()

  protected override onFrame(frame: Buffer): void {
    const data = dataOf(frame) ?? partialChunk(frame)
    if (!data) return
    this.frames++
    if (isRecord(data['error'])) {
      this.fault ??= faultOf(data)
      this.end ??= 'error'
      return
    }
    this.#onChunk(data)
  }

  #onChunk(chunk: Json): void {
    const usage = this.#readUsage(chunk)
    if (usage) this.counts = { ...this.counts, ...usage }
    const [candidate] = recordsOf(chunk['candidates'])
    const parts = recordsOf(recordOf(candidate?.['content'])['parts'])
    if (parts.length > 0) {
      this.hasContent = true
      this.contentBytes += parts.reduce((sum, { text }) => sum + (typeof text === 'string' ? text.length : 0), 0)
    }
    const blocked = recordOf(chunk['promptFeedback'])['blockReason']
    const reason = nonEmptyText(candidate?.['finishReason']) ?? nonEmptyText(blocked)
    if (this.end === undefined && (parts.length > 0 || reason !== undefined)) this.isUnderWay = true
    if (parts.some(hasContent)) this.isAnswering = true
    if (reason === undefined) return
    if (isDeclinedBy(reason) || blocked !== undefined) this.hasDeclined = true
    else this.isAnswering = true
    this.stopReason = reason
    this.hasFinalCount ||= geminiUsageOf(chunk['usageMetadata'])?.output_tokens !== undefined
    // Google sends no end event; the finish reason is the last required field.
    this.end ??= 'stop'
  }
}

/** Reports whether a part holds more than an empty text. */
const hasContent = (part: Json): boolean => part['text'] !== ''

/** Reads finish reason and counts from the end of a chunk that is too long to buffer, such as one with an image. */
function partialChunk(frame: Buffer): Json | undefined {
  const text = frame.toString('latin1')
  if (!text.startsWith('data:')) return undefined
  const reason = /"finishReason"\s*:\s*"(\w+)"/.exec(text)?.[1]
  const counts = [...text.matchAll(/"(\w+TokenCount)"\s*:\s*(\d+)/g)].map(([, name, count]) => [name, Number(count)])
  return {
    candidates: [{ content: { parts: [{}] }, ...(reason !== undefined && { finishReason: reason }) }],
    ...(counts.length > 0 && { usageMetadata: Object.fromEntries(counts) }),
  }
}
