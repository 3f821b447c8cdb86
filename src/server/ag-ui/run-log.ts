import type { AgUiMessage } from '../../contract/ag-ui-input.ts'
import type { SessionEvent } from '../../contract/events.ts'
import type { EventStore } from '../sessions/log/event-store.ts'
import { followLog } from '../sessions/log/following.ts'
import type { LiveEvents } from '../sessions/log/live-events.ts'
import { eventOf } from '../sessions/log/log-page.ts'
import type { AgUiEvent } from './events.ts'
import { eventOfMessage } from './message-texts.ts'
import { RunReading } from './run-reading.ts'
import type { ThreadCall } from './thread-calls.ts'
import type { StoredRun, ThreadStore } from './thread-store.ts'

interface Deps {
  readonly events: Pick<EventStore, 'boundedPage' | 'seqOfPrompt'>
  readonly live: Pick<LiveEvents, 'subscribe' | 'generated'>
  readonly storedEvents: ThreadStore['storedEvents']
}

/** A thread as its last run has left it. */
export interface ThreadReading {
  /** Event that ended the run while one of its prompts went on; undefined when the run has not ended, or its prompts have. */
  readonly continuesAfter: number | undefined
  /** The calls that wait for an answer now. */
  readonly questions: readonly ThreadCall[]
}

/** Reads runs from the logs of their sessions, and follows them. */
export type RunLog = ReturnType<typeof createRunLog>

export function createRunLog({ events, live, storedEvents }: Deps) {
  /** Yields the events after `after` that the log has now. */
  async function* stored(sessionId: string, after: number): AsyncGenerator<SessionEvent> {
    for (let last = after; ; ) {
      const page = await events.boundedPage(sessionId, last)
      yield* page?.events ?? []
      last = page?.events.at(-1)?.seq ?? last
      if (!page || page.events.length === 0 || last >= page.last) return
    }
  }

  /** Returns the reading of a run as of its start: it knows the tool calls that its prompts have made before. */
  async function begun(run: StoredRun): Promise<RunReading> {
    const reading = new RunReading(run)
    const [first = ''] = run.prompt_ids
    const seq = (await events.seqOfPrompt(run.session_id, first)) ?? 1
    // Most runs begin with their first prompt.
    if (seq > run.after_seq) return reading
    for await (const event of stored(run.session_id, seq - 1)) {
      if (event.seq > run.after_seq) break
      reading.recall(event)
    }
    return reading
  }

  /** Returns the ids of the events that the agent has written in a run so far. */
  async function writtenIn(run: StoredRun): Promise<ReadonlySet<string>> {
    const reading = await begun(run)
    const ids = new Set<string>()
    for await (const event of stored(run.session_id, run.after_seq)) {
      if (event.type.startsWith('agent.')) ids.add(event.id)
      reading.take(event)
      if (reading.isOver) break
    }
    return ids
  }

  return {
    /** Reads the log up to its current end. */
    async read(run: StoredRun): Promise<ThreadReading> {
      const reading = await begun(run)
      let continuesAfter: number | undefined
      for await (const event of stored(run.session_id, run.after_seq)) {
        if (reading.isOver) {
          reading.recall(event)
          continue
        }
        reading.take(event)
        if (reading.isOver && reading.isUnfinished) continuesAfter = event.seq
      }
      return { continuesAfter, questions: reading.questions }
    },

    /**
     * Returns the messages of a client without those of the run, which it is about to get again. A message that the log does not
     * have is one of them as well: it is still being generated, or it was dropped.
     */
    async withoutRun(run: StoredRun, messages: readonly AgUiMessage[]): Promise<AgUiMessage[]> {
      const written = await writtenIn(run)
      const ids = messages.map(({ id }) => eventOfMessage(id)).filter(isEventId)
      const known = await storedEvents(run.session_id, ids)
      return messages.filter(message => {
        const id = eventOfMessage(message.id)
        return message.role === 'user' || !isEventId(id) || (known.has(id) && !written.has(id))
      })
    },

    begun,

    /** Yields the events of a run from its start, until it ends or the signal aborts. */
    async *follow(run: StoredRun, reading: RunReading, signal: AbortSignal): AsyncGenerator<AgUiEvent> {
      const position = { sessionId: run.session_id, after: run.after_seq }
      for await (const frame of followLog(live, position, { signal, withTexts: true })) {
        yield* 'seq' in frame ? reading.take(eventOf(frame)) : reading.preview(frame)
        if (reading.isOver) return
      }
      if (!signal.aborted) yield* reading.lost()
    },
  }
}

/** Other messages are of the client. */
const isEventId = (id: string): boolean => id.startsWith('evt_')
