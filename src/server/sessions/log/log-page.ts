import type { SessionEvent } from '../../../contract/events.ts'
import { sseFrame } from '../../../contract/sse.ts'

/** Channel for new events. Payload: session id, last new number, first new number, owner. */
export const eventsChannel = 'session_events'

/** An event encoded for readers, once for all of them. */
export interface LogFrame {
  readonly seq: number
  readonly type: string
  /** The complete frame of the event stream. */
  readonly data: Buffer
  /** Offset of the event's JSON in `data`; the JSON ends two bytes before the end. */
  readonly jsonStart: number
}

/** Consecutive events of one session, shared by its readers and immutable. */
export interface LogPage {
  readonly sessionId: string
  readonly first: number
  readonly last: number
  readonly bytes: number
  readonly frames: readonly LogFrame[]
}

/** Approximate memory overhead of a frame in bytes. */
const frameCost = 200

/** Builds a page of consecutive events; undefined without events. */
export function pageOf(sessionId: string, events: readonly SessionEvent[]): LogPage | undefined {
  const texts = events.map(textOf)
  const whole = Buffer.from(texts.map(({ text }) => text).join(''))
  let at = 0
  const frames = events.map(({ seq, type }, index): LogFrame => {
    const { text = '', json = '' } = texts[index] ?? {}
    const data = whole.subarray(at, at + Buffer.byteLength(text))
    at += data.length
    return { seq, type, data, jsonStart: data.length - 2 - Buffer.byteLength(json) }
  })
  const [first, last] = [frames[0], frames.at(-1)]
  if (!first || !last) return undefined
  const bytes = frames.reduce((sum, { data }) => sum + data.length + frameCost, 0)
  return { sessionId, first: first.seq, last: last.seq, bytes, frames }
}

/** Returns the event of a frame. Parsed on each call, so that a page is in memory only once. */
export const eventOf = ({ data, jsonStart }: LogFrame): SessionEvent =>
  JSON.parse(data.toString('utf8', jsonStart, data.length - 2)) as SessionEvent

/** Returns the bytes of consecutive frames of one page. They are adjacent in memory, so one write sends them all. */
export function bytesOf(frames: readonly LogFrame[]): Buffer {
  const [first, last] = [frames[0]?.data, frames.at(-1)?.data]
  if (!first || !last) return Buffer.alloc(0)
  return Buffer.from(first.buffer, first.byteOffset, last.byteOffset + last.length - first.byteOffset)
}

function textOf(event: SessionEvent): { readonly text: string; readonly json: string } {
  const json = JSON.stringify(event)
  return { text: sseFrame({ id: String(event.seq), event: event.type, data: json }), json }
}
