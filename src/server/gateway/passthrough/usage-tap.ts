import { recordOf } from '../../platform/json.ts'
import { dataOf } from '../bytes/event-frames.ts'
import { tokenCount, withUsage } from '../tokens/token-counts.ts'
import { faultOf } from './answers.ts'
import type { UsageTap } from './passthrough-format.ts'
import { StreamTap } from './stream-tap.ts'

/** Bytes of a text delta around its text, about. */
const deltaOverheadBytes = 118

/**
 * Returns a tap that reads usage from a stream of Anthropic's events. It parses only the few events that carry usage or
 * end the stream. Source: Gateway, section 2.1.
 */
export const createUsageTap = (): UsageTap => new MessagesTap()

class MessagesTap extends StreamTap {
  override takesPings = false
  override hasContent = false

  /** True from message_start on, which holds the first counts and after which pings are allowed. */
  protected override get isCounting(): boolean {
    return this.takesPings
  }

  protected override onFrame(frame: Buffer): void {
    const name = eventName(frame)
    if (name === undefined) return
    // A last frame without its empty line may be truncated.
    if (this.isFinishing && dataOf(frame) === undefined) return
    this.frames++
    if (name === 'message_start') this.#onStart(frame)
    else if (name === 'error') this.#onError(frame)
    else if (name !== 'ping') this.#onProgress(name, frame)
  }

  #onStart(frame: Buffer): void {
    this.takesPings = true
    this.counts = withUsage(this.counts, recordOf(dataOf(frame)?.['message'])['usage'])
  }

  #onError(frame: Buffer): void {
    this.fault ??= faultOf(dataOf(frame))
    this.end ??= 'error'
  }

  #onProgress(name: string, frame: Buffer): void {
    if (this.end === undefined) this.isUnderWay = true
    if (name === 'content_block_delta') this.contentBytes += Math.max(0, frame.length - deltaOverheadBytes)
    if (name.startsWith('content_block')) {
      this.hasContent = true
      this.isAnswering = true
    } else if (name === 'message_delta') this.#onDelta(frame)
    else if (name === 'message_stop') this.end ??= 'stop'
  }

  #onDelta(frame: Buffer): void {
    const data = dataOf(frame)
    const stated = recordOf(data?.['usage'])
    this.counts = withUsage(this.counts, stated)
    this.hasFinalCount ||= tokenCount(stated['output_tokens']) !== undefined
    const reason = recordOf(data?.['delta'])['stop_reason']
    if (typeof reason !== 'string') return
    this.stopReason = reason
    if (reason === 'refusal') this.hasDeclined = true
    else this.isAnswering = true
  }
}

const usualStart = Buffer.from('event: ')
/** Start of nearly all frames. */
const usualDelta = 'event: content_block_delta\n'

/** Returns the name in the frame's `event:` line, else the `type` of its data; undefined without either. */
function eventName(frame: Buffer): string | undefined {
  if (frame.toString('latin1', 0, usualDelta.length) === usualDelta) return 'content_block_delta'
  const lineEnd = frame.indexOf(0x0a)
  if (lineEnd > 0 && frame.subarray(0, usualStart.length).equals(usualStart)) {
    const line = frame.toString('latin1', usualStart.length, lineEnd).trimEnd()
    if (!line.includes('\r')) return line
  }
  const named = /^event:(.*)$/m.exec(frame.toString('latin1').replaceAll('\r', '\n'))?.[1]
  if (named !== undefined) return named.trim()
  const type = dataOf(frame)?.['type']
  return typeof type === 'string' ? type : undefined
}
