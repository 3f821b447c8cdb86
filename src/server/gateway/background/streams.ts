import { masterCaller } from '../../http/caller.ts'
import { eventStreamHeaders, heartbeatMs } from '../../http/frame-writer.ts'
import type { StreamSlots } from '../../http/stream-slots.ts'
import type { Keys } from '../../keys/keys.ts'
import { AppError } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import { type Call, drained, type Outcome, type Sink } from '../core/call.ts'
import type { ResponseName } from '../responses/store.ts'
import { noTokens } from '../tokens/token-counts.ts'
import type { EventReading } from './event-reading.ts'

interface Deps {
  readonly reading: EventReading
  readonly keys: Pick<Keys, 'byId' | 'watch'>
  readonly slots: () => StreamSlots
  /** Aborts when the process stops: readers resume at another one. */
  readonly shutdown: AbortSignal
  readonly log: Pick<Log, 'warn'>
}

interface Stream {
  readonly name: ResponseName
  /** Number of the last event that the reader has; -1 for none. */
  readonly after: number
  readonly call: Call
  readonly sink: Sink
}

/** A reader that does not read for this time is disconnected, and may resume. */
const slowReaderMs = 30_000

const heartbeat = Buffer.from(': keep-alive\n\n')

/** Event streams of background responses. A reader has one page in memory. */
export type EventStreams = ReturnType<typeof createEventStreams>

export function createEventStreams({ reading, keys, slots, shutdown, log }: Deps) {
  async function write({ name, after, call, sink }: Stream, ended: AbortSignal): Promise<Outcome> {
    const left = new AbortController()
    const leave = () => left.abort()
    if (call.signal.aborted) leave()
    call.signal.addEventListener('abort', leave, { once: true })
    const signal = AbortSignal.any([left.signal, shutdown, ended])
    sink.head(200, { ...eventStreamHeaders, 'x-switchyard-request-id': call.requestId })
    let isIdle = true
    const beat = setInterval(() => {
      if (isIdle && !left.signal.aborted) sink.data(heartbeat)
    }, heartbeatMs)
    try {
      for await (const frames of reading.follow(name, { after, signal })) {
        isIdle = false
        if (!sink.data(Buffer.from(frames)) && !(await hasDrained(sink, signal))) {
          sink.cut?.()
          return outcomeOf('aborted')
        }
        isIdle = true
      }
    } catch (cause) {
      // The head is sent, so the error cannot be: the reader sees a broken connection, and resumes.
      log.warn({ err: cause, response: name.id }, 'cannot read the events of a background response')
      sink.cut?.()
      return outcomeOf('aborted')
    } finally {
      clearInterval(beat)
      call.signal.removeEventListener('abort', leave)
    }
    if (left.signal.aborted) return outcomeOf('aborted')
    sink.end()
    return outcomeOf('completed')
  }

  return {
    /** Acquires a stream, which must be closed. Throws `rate_limited` when the key has too many. */
    async open({ key }: Call['caller']) {
      const holder = key ? await keys.byId(key.id) : masterCaller
      if (!holder) throw new AppError('unauthorized', 'unauthorized')
      const release = slots().take(holder)
      const watched = keys.watch(holder)
      return {
        write: (stream: Stream) => write(stream, watched.signal),
        close() {
          watched.close()
          release()
        },
      }
    },
  }
}

/** False if the reader has not read for too long. */
async function hasDrained(sink: Sink, signal: AbortSignal): Promise<boolean> {
  const late = AbortSignal.timeout(slowReaderMs)
  await drained(sink, AbortSignal.any([signal, late]))
  return !late.aborted
}

const outcomeOf = (outcome: Outcome['outcome']): Outcome => ({
  outcome,
  status: 200,
  stopReason: undefined,
  usage: noTokens,
  firstContentMs: undefined,
})
