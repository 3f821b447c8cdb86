import type { SessionEvent } from '../contract/events.ts'
import type { SseFrame } from '../contract/sse.ts'
import type { Client } from './client.ts'
import { streamFrames } from './event-stream.ts'
import { ApiError } from './failures.ts'
import {
  ConnectionLost,
  EventMissing,
  isPassing,
  type Pace,
  pauseFor,
  reconnectDelayMs,
  usualPace,
} from './reconnect.ts'

/** A stored event, or a delta that is a preview only: it has no place in the log and may be lost. */
export type ReadEvent =
  | { readonly ephemeral: false; readonly event: SessionEvent }
  | { readonly ephemeral: true; readonly event: { readonly type: string; readonly [field: string]: unknown } }

/** What the reader is doing, for people who wait. */
export type ReaderState =
  | { readonly name: 'connecting'; readonly failures: number }
  | { readonly name: 'open' }
  | { readonly name: 'waiting'; readonly retryInMs: number; readonly reason: string }

export interface ReadEventsOptions {
  readonly client: Client
  readonly sessionId: string
  /** Sequence number of the last event that is already known; 0, the default, reads from the start. */
  readonly after?: number
  readonly signal?: AbortSignal
  /** True also yields deltas, marked ephemeral. */
  readonly eventDeltas?: boolean
  readonly onState?: (state: ReaderState) => void
  /** Replaces parts of `usualPace`. */
  readonly pace?: Partial<Pace>
}

/** A gap may be the cut of a proxy; one that stays after so many loads is a fault of the service. */
const maxLoadsOfGap = 5

/**
 * The events of a session in order, each exactly once, followed over lost connections and restarts of the service.
 * Ends after `session.deleted` and when `signal` aborts. Throws what a new try cannot cure: ApiError for a refusal such
 * as 401, 403 or 404, EventMissing for a gap that stays.
 */
export async function* readEvents(options: ReadEventsOptions): AsyncGenerator<ReadEvent, void, void> {
  const { signal = new AbortController().signal, onState = () => {} } = options
  const place: Place = { seq: options.after ?? 0, pace: { ...usualPace, ...options.pace }, openedAtMs: undefined }
  let failures = 0
  while (!signal.aborted) {
    const seqBefore = place.seq
    let failure: unknown
    onState({ name: 'connecting', failures })
    try {
      if (yield* readConnection({ ...options, signal, onState }, place)) return
      failure = new ConnectionLost('the service closed the stream')
    } catch (error) {
      failure = error
    }
    if (signal.aborted) return
    failures = place.seq > seqBefore || hasStood(place) ? 1 : failures + 1
    const retryInMs = delayAfter(failure, failures, place.pace)
    onState({ name: 'waiting', retryInMs, reason: failure instanceof Error ? failure.message : String(failure) })
    await pauseFor(retryInMs, signal)
  }
}

/** What outlives a connection. */
interface Place {
  /** Of the last event that was yielded. */
  seq: number
  pace: Pace
  /** When the current connection was opened; undefined while it is not. */
  openedAtMs: number | undefined
}

type Reading = ReadEventsOptions & Required<Pick<ReadEventsOptions, 'signal' | 'onState'>>

/** Reads one connection to its end. True when nothing can follow: the session was deleted. */
async function* readConnection(reading: Reading, place: Place): AsyncGenerator<ReadEvent, boolean, void> {
  const { client, sessionId, signal, eventDeltas = false } = reading
  const seqBefore = place.seq
  place.openedAtMs = undefined
  const onOpen = () => {
    place.openedAtMs = performance.now()
    reading.onState({ name: 'open' })
  }
  const onRetry = (retryMs: number) => {
    place.pace = { ...place.pace, retryMs }
  }
  const { silenceMs } = place.pace
  const frames = streamFrames({ client, sessionId, after: seqBefore, eventDeltas, signal, silenceMs, onOpen, onRetry })
  for await (const frame of frames) {
    const read = readFrame(frame, place.seq)
    if (!read || (read.ephemeral && !eventDeltas)) continue
    if (!read.ephemeral) place.seq = read.event.seq
    yield read
    if (read.event.type === 'session.deleted') return true
  }
  return place.seq === seqBefore && isOver(reading, place.seq)
}

/** An idle connection that a proxy cuts now and then is no reason to wait longer and longer. */
const hasStood = ({ openedAtMs, pace }: Place): boolean =>
  openedAtMs !== undefined && performance.now() - openedAtMs >= pace.retryMs

/** Milliseconds until the next try. Throws `failure` itself when no try can cure it. */
function delayAfter(failure: unknown, failures: number, pace: Pace): number {
  if (!isPassing(failure) || (failure instanceof EventMissing && failures >= maxLoadsOfGap)) throw failure
  const retryAfterMs = failure instanceof ApiError ? failure.retryAfterMs : undefined
  return reconnectDelayMs(pace, { failures, chance: Math.random(), retryAfterMs })
}

/** The event of a frame; undefined for one that is known already. Throws for a gap, and for what is no event. */
function readFrame({ id, data }: SseFrame, seq: number): ReadEvent | undefined {
  if (id === undefined) return { ephemeral: true, event: parsedEvent(data) }
  if (!/^\d{1,15}$/.test(id)) throw new ConnectionLost('a frame of the stream has an id that is no number')
  const next = Number(id)
  if (next <= seq) return undefined
  if (next > seq + 1) throw new EventMissing(seq + 1)
  return { ephemeral: false, event: { ...(parsedEvent(data) as SessionEvent), seq: next } }
}

function parsedEvent(data: string): { readonly type: string } {
  try {
    const event: unknown = JSON.parse(data)
    if (typeof event === 'object' && event !== null && 'type' in event && typeof event.type === 'string') {
      return event as { readonly type: string }
    }
  } catch (cause) {
    throw new ConnectionLost('a frame of the stream cannot be read', { cause })
  }
  throw new ConnectionLost('a frame of the stream is no event')
}

/** True when the session was deleted and its last event is known: the service closes such a stream at once. */
async function isOver({ client, sessionId, signal }: Reading, seq: number): Promise<boolean> {
  const query = { order: 'desc', limit: 1 } as const
  const { data } = await client.events.list({ params: { session_id: sessionId }, query }, { signal })
  const last = data[0]
  return last?.type === 'session.deleted' && last.seq <= seq
}
