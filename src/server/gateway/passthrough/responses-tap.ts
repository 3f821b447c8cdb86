import { isRecord, type Json, jsonOr, recordOf } from '../../platform/json.ts'
import { dataOf } from '../bytes/event-frames.ts'
import { responsesUsageIn } from '../tokens/stated-usage.ts'
import { faultOf, stopReasonOf } from './answers.ts'
import type { UsageTap } from './passthrough-format.ts'
import { StreamTap } from './stream-tap.ts'

/** Events that only confirm that the request was accepted. */
const opening: ReadonlySet<string> = new Set(['response.created', 'response.queued', 'response.in_progress'])
const endings: ReadonlySet<string> = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/** Returns a tap that reads usage from a stream of OpenAI's Responses. */
export const createResponsesTap = (): UsageTap => new ResponsesTap()

class ResponsesTap extends StreamTap {
  override hasContent = false
  override readonly takesPings = true

  protected override onFrame(frame: Buffer): void {
    const name = eventName(frame)
    if (name === undefined || (this.isFinishing && dataOf(frame) === undefined)) return
    this.frames++
    if (endings.has(name)) this.#onEnding(name, frame)
    else if (name === 'error') {
      this.fault ??= faultOf(dataOf(frame))
      this.end ??= 'error'
    } else if (!opening.has(name)) this.#onProgress(name, frame)
  }

  #onEnding(name: string, frame: Buffer): void {
    const response = dataOf(frame)?.['response']
    // The event repeats the whole response. If it is too long to buffer, its usage is near the end.
    const ended = isRecord(response) ? response : countsNearEnd(frame)
    const update = responsesUsageIn(ended)
    this.counts = { ...this.counts, ...(Array.isArray(ended['output']) && noCalls), ...update }
    this.hasFinalCount ||= update.output_tokens !== undefined
    this.stopReason = isRecord(response) ? stopReasonOf(response) : name.slice('response.'.length)
    if (name === 'response.failed') {
      this.fault ??= faultOf(response)
      this.end ??= 'error'
      return
    }
    if (this.end === undefined) this.isUnderWay = true
    if (this.stopReason === 'content_filter') this.hasDeclined = true
    this.end ??= 'stop'
  }

  #onProgress(name: string, frame: Buffer): void {
    if (this.end === undefined) this.isUnderWay = true
    this.hasContent = true
    if (name.startsWith('response.refusal.')) this.hasDeclined = true
    else if (!this.isAnswering) this.isAnswering = !isFrameOfItem(name, frame)
    // The last event lists all calls, but it may be missing or too long to buffer.
    const counter = providerCalls.get(name)
    if (counter) this.counts = { ...this.counts, [counter]: this.counts[counter] + 1 }
    if (!name.endsWith('.delta')) return
    const at = frame.indexOf(deltaKey)
    if (at >= 0) this.countString(frame, at + deltaKey.length - 1)
  }
}

/** Reports whether a frame only starts or ends an item or a part that may hold a refusal. */
function isFrameOfItem(name: string, frame: Buffer): boolean {
  if (/^response\.content_part\.(added|done)$/.test(name)) return true
  if (!/^response\.output_item\.(added|done)$/.test(name)) return false
  const { type } = recordOf(dataOf(frame)?.['item'])
  return type === 'message' || type === 'reasoning'
}

const noCalls = { web_searches: 0, file_searches: 0 }
const providerCalls: ReadonlyMap<string, 'web_searches' | 'file_searches'> = new Map([
  ['response.web_search_call.completed', 'web_searches'],
  ['response.file_search_call.completed', 'file_searches'],
])

const deltaKey = Buffer.from('"delta":"')
const typeKey = /"type"\s*:\s*"([\w.]+)"/

/** Returns the name in the `event:` line, else the type, which is the first member of the data. */
function eventName(frame: Buffer): string | undefined {
  const start = frame.toString('latin1', 0, 256)
  return (/^event:\s*([\w.]+)/.exec(start) ?? typeKey.exec(start))?.[1] ?? typeOf(frame)
}

function typeOf(frame: Buffer): string | undefined {
  const type = dataOf(frame)?.['type']
  return typeof type === 'string' ? type : undefined
}

const countsNearEnd = (frame: Buffer): Json => ({
  usage: lastObject(frame, 'usage'),
  tool_usage: lastObject(frame, 'tool_usage'),
  service_tier: lastTier(frame),
})

const tierKey = '"service_tier":'

function lastTier(frame: Buffer): string | undefined {
  const at = frame.lastIndexOf(tierKey)
  const start = at + tierKey.length
  return at < 0 ? undefined : /^\s*"(\w+)"/.exec(frame.toString('latin1', start, start + 64))?.[1]
}

/** Returns the last object of that name in a text whose middle is missing. */
function lastObject(frame: Buffer, name: string): unknown {
  const key = `"${name}":`
  const at = frame.lastIndexOf(key)
  if (at < 0) return undefined
  const text = frame.toString('utf8', at + key.length)
  // Usage holds nested objects, but no strings, so counting brackets is enough.
  let depth = 0
  for (let place = 0; place < text.length; place++) {
    if (text[place] === '{') depth++
    if (text[place] === '}') depth--
    if (depth === 0 && text[place] === '}') return recordOf(jsonOr(text.slice(0, place + 1), undefined))
  }
  return undefined
}
