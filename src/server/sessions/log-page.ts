import type { SessionEvent } from '../../contract/events.ts'
import { sseFrame } from '../../contract/sse.ts'

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
  const frames = events.map(frameOf)
  const [first, last] = [frames[0], frames.at(-1)]
  if (!first || !last) return undefined
  const bytes = frames.reduce((sum, { data }) => sum + data.length + frameCost, 0)
  return { sessionId, first: first.seq, last: last.seq, bytes, frames }
}

/** The event of a frame. Parsed at each call, so that a page is kept in memory once. */
export const eventOf = ({ data, jsonStart }: LogFrame): SessionEvent =>
  JSON.parse(data.toString('utf8', jsonStart, data.length - 2)) as SessionEvent

function frameOf(event: SessionEvent): LogFrame {
  const { seq, type } = event
  const json = JSON.stringify(event)
  const data = Buffer.from(sseFrame({ id: String(seq), event: type, data: json }))
  return { seq, type, data, jsonStart: data.length - 2 - Buffer.byteLength(json) }
}
