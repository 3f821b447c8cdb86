import { recordOf } from '../../platform/json.ts'
import { dataOf } from '../bytes/event-frames.ts'
import { tokenCount, withUsage } from '../tokens/token-counts.ts'
import { faultOf } from './answers.ts'
import { StreamTap } from './stream-tap.ts'
import type { UsageTap } from './wire.ts'

/** About what one text delta costs around its text. */
const deltaOverheadBytes = 118

/**
 * Searches a stream of Anthropic's events for the few that carry usage or end it, and parses only those. Source:
 * Gateway, section 2.1.
 */
export const createUsageTap = (): UsageTap => new MessagesTap()

class MessagesTap extends StreamTap {
  override takesPings = false
  override hasContent = false

  /** No ping may come before message_start, and with it come the first counts. */
  protected override get isCounting(): boolean {
    return this.takesPings
  }

  protected override onFrame(frame: Buffer): void {
    const name = eventName(frame)
    if (name === undefined) return
    // Of the last frame, without its empty line, more may be missing than that.
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
/** How nearly all frames begin. */
const usualDelta = 'event: content_block_delta\n'

/** The name of a frame's event: of its `event:` line, else the `type` of its data; undefined without either. */
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
