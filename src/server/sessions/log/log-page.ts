import type { SessionEvent } from '../../../contract/events.ts'
import { sseFrame } from '../../../contract/sse.ts'

/** Hints of new events: a session, its last and its first number that are new, and its owner. */
export const eventsChannel = 'session_events'

/** An event as it goes to readers, encoded once for all of them. */
export interface LogFrame {
  readonly seq: number
  readonly type: string
  /** The whole frame of the event stream. */
  readonly data: Buffer
  /** Where the event's JSON begins in `data`; it ends two bytes before the end. */
  readonly jsonStart: number
}

/** Events of one session that follow on each other. Shared by its readers; never changed. */
export interface LogPage {
  readonly sessionId: string
  readonly first: number
  readonly last: number
  readonly bytes: number
  readonly frames: readonly LogFrame[]
}

/** What a frame costs besides its bytes. */
const frameCost = 200

/** A page of events without a gap; undefined for none. */
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

/** The event of a frame. Parsed at each call, so that a page is kept in memory once. */
export const eventOf = ({ data, jsonStart }: LogFrame): SessionEvent =>
  JSON.parse(data.toString('utf8', jsonStart, data.length - 2)) as SessionEvent

/** The bytes of frames that follow on each other in one page: they lie side by side, so that one write takes them all. */
export function bytesOf(frames: readonly LogFrame[]): Buffer {
  const [first, last] = [frames[0]?.data, frames.at(-1)?.data]
  if (!first || !last) return Buffer.alloc(0)
  return Buffer.from(first.buffer, first.byteOffset, last.byteOffset + last.length - first.byteOffset)
}

function textOf(event: SessionEvent): { readonly text: string; readonly json: string } {
  const json = JSON.stringify(event)
  return { text: sseFrame({ id: String(event.seq), event: event.type, data: json }), json }
}
