import type { SessionEvent } from '../contract/events.ts'
import type { SseFrame } from '../contract/sse.ts'
import type { Client } from './client.ts'
import { streamFrames } from './event-stream.ts'
import { ApiError } from './failures.ts'
import {
  ConnectionLost,
  defaultPace,
  EventMissing,
  isRetryable,
  type Pace,
  pauseFor,
  reconnectDelayMs,
} from './reconnect.ts'

/**
 * A stored event, or an ephemeral delta: a preview that is not in the log and may be lost. Skip stored events of types that
 * you do not know: runtimes and later servers add some.
 */
export type ReadEvent =
  | { readonly ephemeral: false; readonly event: SessionEvent }
  | { readonly ephemeral: true; readonly event: { readonly type: string; readonly [field: string]: unknown } }

/** State of the reader, for display. */
export type ReaderState =
  | { readonly name: 'connecting'; readonly failures: number }
  | { readonly name: 'open' }
  | { readonly name: 'waiting'; readonly retryInMs: number; readonly reason: string; readonly error: unknown }

export interface ReadEventsOptions {
  readonly client: Client
  readonly sessionId: string
  /** Sequence number of the last event that was read; 0, the default, reads from the start. */
  readonly after?: number
  readonly signal?: AbortSignal
  /** True: also yield deltas, marked ephemeral. */
  readonly eventDeltas?: boolean
  readonly onState?: (state: ReaderState) => void
  /** Overrides parts of `defaultPace`. */
  readonly pace?: Partial<Pace>
}

/** A proxy may cause a gap; a gap that stays after this many loads is a bug of the service. */
const maxGapRetries = 5

/**
 * Yields the events of a session in order, each exactly once; reconnects after lost connections and restarts of the
 * service. Ends after `session.deleted` and when `signal` aborts. Throws errors that a retry cannot fix: ApiError such
 * as 401, 403 or 404, and EventMissing for a permanent gap.
 */
export async function* readEvents(options: ReadEventsOptions): AsyncGenerator<ReadEvent, void, void> {
  const { signal = new AbortController().signal, onState = () => {} } = options
  const position: Position = {
    seq: options.after ?? 0,
    pace: { ...defaultPace, ...options.pace },
    openedAtMs: undefined,
  }
  let failures = 0
  while (!signal.aborted) {
    const seqBefore = position.seq
    let failure: unknown
    onState({ name: 'connecting', failures })
    try {
      if (yield* readConnection({ ...options, signal, onState }, position)) return
      failure = new ConnectionLost('service closed the stream')
    } catch (error) {
      failure = error
    }
    if (signal.aborted) return
    failures = position.seq > seqBefore || wasStable(position) ? 1 : failures + 1
    const retryInMs = delayAfter(failure, failures, position.pace)
    const reason = failure instanceof Error ? failure.message : String(failure)
    onState({ name: 'waiting', retryInMs, reason, error: failure })
    await pauseFor(retryInMs, signal)
  }
}

/** State that outlives a connection. */
interface Position {
  /** Sequence number of the last yielded event. */
  seq: number
  pace: Pace
  /** Time when the current connection was opened; undefined while it is closed. */
  openedAtMs: number | undefined
}

type Reading = ReadEventsOptions & Required<Pick<ReadEventsOptions, 'signal' | 'onState'>>

/** Reads one connection to its end. Returns true when the session was deleted. */
async function* readConnection(reading: Reading, position: Position): AsyncGenerator<ReadEvent, boolean, void> {
  const { client, sessionId, signal, eventDeltas = false } = reading
  const seqBefore = position.seq
  position.openedAtMs = undefined
  const onOpen = () => {
    position.openedAtMs = performance.now()
    reading.onState({ name: 'open' })
  }
  const onRetry = (retryMs: number) => {
    position.pace = { ...position.pace, retryMs }
  }
  const { silenceMs } = position.pace
  const frames = streamFrames({ client, sessionId, after: seqBefore, eventDeltas, signal, silenceMs, onOpen, onRetry })
  for await (const frame of frames) {
    const read = readFrame(frame, position.seq)
    if (!read || (read.ephemeral && !eventDeltas)) continue
    if (!read.ephemeral) position.seq = read.event.seq
    yield read
    if (read.event.type === 'session.deleted') return true
  }
  return position.seq === seqBefore && isDeletedSession(reading, position.seq)
}

/** True when the connection lasted a while: then an occasional cut of a proxy must not increase the delay. */
const wasStable = ({ openedAtMs, pace }: Position): boolean =>
  openedAtMs !== undefined && performance.now() - openedAtMs >= pace.retryMs

/** Returns the milliseconds until the next try. Throws `failure` when a retry cannot fix it. */
function delayAfter(failure: unknown, failures: number, pace: Pace): number {
  if (!isRetryable(failure) || (failure instanceof EventMissing && failures >= maxGapRetries)) throw failure
  const retryAfterMs = failure instanceof ApiError ? failure.retryAfterMs : undefined
  return reconnectDelayMs(pace, { failures, chance: Math.random(), retryAfterMs })
}

/** Returns the event of a frame; undefined for a repeated event. Throws for a gap and for an invalid frame. */
function readFrame({ id, data }: SseFrame, seq: number): ReadEvent | undefined {
  if (id === undefined) return { ephemeral: true, event: parsedEvent(data) }
  if (!/^\d{1,15}$/.test(id)) throw new ConnectionLost('invalid stream frame: id is not a number')
  const next = Number(id)
  if (next <= seq) return undefined
  if (next > seq + 1) throw new EventMissing(seq + 1)
  // The service is trusted to send its contract. A type of a later version passes as `OtherType`.
  return { ephemeral: false, event: { ...(parsedEvent(data) as SessionEvent), seq: next } }
}

function parsedEvent(data: string): { readonly type: string } {
  try {
    const event: unknown = JSON.parse(data)
    if (typeof event === 'object' && event !== null && 'type' in event && typeof event.type === 'string') {
      return event as { readonly type: string }
    }
  } catch (cause) {
    throw new ConnectionLost('invalid stream frame: not JSON', { cause })
  }
  throw new ConnectionLost('invalid stream frame: not an event')
}

/** True when the session was deleted and its last event was read: the service closes such a stream at once. */
async function isDeletedSession({ client, sessionId, signal }: Reading, seq: number): Promise<boolean> {
  const query = { order: 'desc', limit: 1 } as const
  const { data } = await client.events.list({ params: { session_id: sessionId }, query }, { signal })
  const last = data[0]
  return last?.type === 'session.deleted' && last.seq <= seq
}
