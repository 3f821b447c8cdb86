import { isRecord, type Json, jsonOr, recordOf, textIn } from '../../platform/json.ts'
import { type AwsFrame, createAwsEventStream } from '../bytes/aws-event-stream.ts'
import type { UsageUpdate } from '../core/answer-event.ts'
import { converseUsage } from '../formats/bedrock-converse/read-answer.ts'
import { noTokens, type TokenCounts, tokenCount } from '../tokens/token-counts.ts'
import { bedrockMessage } from '../upstream/bedrock.ts'
import type { UpstreamFault, UsageTap } from './passthrough-format.ts'

/** Returns a tap that reads usage from ConverseStream. */
export const createConverseTap = (): UsageTap => new ConverseTap()

/** Returns a tap that reads usage from InvokeModelWithResponseStream. */
export const createInvokeTap = (): UsageTap => new InvokeTap()

const bytesPerToken = 4

/** Reads AWS event-stream framing. Throws EventStreamError for other bytes. */
abstract class AwsTap implements UsageTap {
  readonly takesPings = false
  readonly hasDeclined = false
  stopReason: string | undefined
  isUnderWay = false
  hasContent = false
  end: UsageTap['end']
  fault: UpstreamFault | undefined
  frames = 0
  protected counts: TokenCounts = noTokens
  protected hasFinalCount = false
  protected contentBytes = 0
  readonly #read = createAwsEventStream()
  #waiting = 0

  push(chunk: Buffer): number {
    const frames = this.#read(chunk)
    let whole = 0
    for (const frame of frames) {
      whole += frame.bytes
      this.frames++
      this.#take(frame)
    }
    const before = this.#waiting
    this.#waiting += chunk.length - whole
    return whole === 0 ? 0 : whole - before
  }

  finish(): void {
    // Some streams end without a metadata event.
    if (this.stopReason !== undefined) this.end ??= 'stop'
  }

  get isAnswering(): boolean {
    return this.hasContent
  }

  get usage(): TokenCounts {
    if (this.frames === 0 || this.hasFinalCount) return this.counts
    const sent = Math.max(this.counts.output_tokens, Math.ceil(this.contentBytes / bytesPerToken))
    return { ...this.counts, output_tokens: sent, estimated: true }
  }

  #take({ event = '', data }: AwsFrame): void {
    const payload = recordOf(jsonOr(data, undefined))
    if (/(exception|error|failure)$/i.test(event)) {
      this.fault ??= { message: bedrockMessage(payload) ?? event, word: event }
      this.end ??= 'error'
    } else this.onEvent(event, payload)
  }

  protected count(update: UsageUpdate | undefined): void {
    if (!update) return
    this.counts = { ...this.counts, ...update }
    this.hasFinalCount ||= update.output_tokens !== undefined
  }

  protected said(bytes: number): void {
    if (this.end === undefined) this.isUnderWay = true
    this.hasContent = true
    this.contentBytes += bytes
  }

  protected abstract onEvent(event: string, payload: Json): void
}

class ConverseTap extends AwsTap {
  protected override onEvent(event: string, payload: Json): void {
    if (event === 'contentBlockStart') this.said(0)
    else if (event === 'contentBlockDelta') this.said(textBytes(payload['delta']))
    else if (event === 'messageStop') this.stopReason = textIn(payload['stopReason']) ?? 'end_turn'
    else if (event === 'metadata') {
      this.count(converseUsage(payload['usage']))
      this.end ??= 'stop'
    }
  }
}

class InvokeTap extends AwsTap {
  protected override onEvent(event: string, payload: Json): void {
    const bytes = event === 'chunk' ? textIn(payload['bytes']) : undefined
    if (bytes === undefined) return
    const chunk = recordOf(jsonOr(Buffer.from(bytes, 'base64').toString(), undefined))
    const metrics = chunk['amazon-bedrock-invocationMetrics']
    this.said(textBytes(chunk['delta'] ?? chunk['contentBlockDelta'] ?? chunk))
    const reason =
      recordOf(chunk['delta'])['stop_reason'] ?? recordOf(chunk['messageStop'])['stopReason'] ?? chunk['stop_reason']
    this.stopReason = textIn(reason) ?? this.stopReason
    if (!isRecord(metrics)) return
    this.count(metricsOf(metrics))
    this.stopReason ??= 'end_turn'
    this.end ??= 'stop'
  }
}

/** Returns Bedrock's own counts, which the last chunk of every model holds. */
const metricsOf = (metrics: Json): UsageUpdate => ({
  input_tokens: tokenCount(metrics['inputTokenCount']) ?? 0,
  output_tokens: tokenCount(metrics['outputTokenCount']) ?? 0,
  cache_read_tokens: tokenCount(metrics['cacheReadInputTokenCount']) ?? 0,
  cache_write_5m_tokens: tokenCount(metrics['cacheWriteInputTokenCount']) ?? 0,
})

/** Returns about how many bytes of text a part of a response holds. */
const textBytes = (piece: unknown): number =>
  Object.values(recordOf(piece)).reduce<number>(
    (sum, value) => sum + (typeof value === 'string' ? value.length : isRecord(value) ? textBytes(value) : 0),
    0,
  )
