import { type NewEvent, type SessionEvent, textOfContent } from '../../../contract/events.ts'
import type { Branch } from './api.ts'

/** State of one run as read so far. Immutable: each event gives a new reading. */
export interface Reading {
  readonly runId: string
  /** Text that is being written, and the id that its `agent.message` will have. */
  readonly text: { readonly id: string; readonly text: string } | undefined
  /** Thinking that is being written; empty otherwise. */
  readonly thinking: string
  /**
   * Finished thinking within the text. It is emitted right before the text, so that one place in the stream covers
   * both.
   */
  readonly thoughts: readonly string[]
  /** Tool calls by id; an open one has no result yet. */
  readonly uses: ReadonlyMap<string, 'open' | 'settled'>
  /** Text of all messages so far. */
  readonly messagesText: string
  /** The result of the run is in the log. */
  readonly hasResult: boolean
  /** Final status of the run before its result has arrived. */
  readonly pendingStatus: string | undefined
  /** Pushed branches, logged with the end of the run. */
  readonly branches: readonly Branch[]
  /** We have cancelled the run, so its end is not a failure. */
  readonly isCancelled: boolean
  /** The last event was emitted. */
  readonly isOver: boolean
  /** Content of the run was read. */
  readonly hasContent: boolean
  /** Id of the newest event. */
  readonly lastId: string | undefined
  /** Id of the newest event up to which everything is logged. Resuming after it loses and repeats nothing. */
  readonly safeId: string | undefined
}

interface Start {
  readonly runId: string
  readonly lastEventId?: string | undefined
  readonly isCancelled?: boolean | undefined
}

/** Returns the reading before the first event. */
export const newReading = ({ runId, lastEventId, isCancelled = false }: Start): Reading => ({
  runId,
  text: undefined,
  thinking: '',
  thoughts: [],
  uses: new Map(),
  messagesText: '',
  hasResult: false,
  pendingStatus: undefined,
  branches: [],
  isCancelled,
  isOver: false,
  hasContent: false,
  lastId: lastEventId,
  safeId: lastEventId,
})

/** Restores the reading of an earlier owner from the log. `promptId` is the run's prompt. */
export async function readingFrom(
  history: AsyncIterable<SessionEvent>,
  promptId: string,
  start: Start,
): Promise<Reading> {
  let reading = newReading(start)
  let hasBegun = false
  for await (const event of history) {
    hasBegun ||= event.type === 'session.status_running' && event.prompt_id === promptId
    if (hasBegun) reading = withLogged(reading, event)
  }
  return reading
}

/** Returns the reading after one of our events. */
export function withLogged(reading: Reading, event: NewEvent): Reading {
  const useId = event.tool_use_id ?? ''
  switch (event.type) {
    case 'agent.message':
      return { ...reading, hasContent: true, messagesText: `${reading.messagesText}${messageText(event)}` }
    case 'agent.thinking':
      return { ...reading, hasContent: true }
    case 'agent.tool_use':
      return { ...reading, hasContent: true, uses: new Map(reading.uses).set(useId, 'open') }
    case 'agent.tool_result':
      return {
        ...reading,
        hasContent: true,
        uses: reading.uses.has(useId) ? new Map(reading.uses).set(useId, 'settled') : reading.uses,
        hasResult: reading.hasResult || useId === reading.runId,
      }
    default:
      return reading
  }
}

/** Returns the text of one of our `agent.message` events. */
export const messageText = (event: NewEvent): string => textOfContent(event.content?.slice(0, 1))

/** Reports whether no event is pending. */
export const isSettled = ({ text, thinking, thoughts }: Reading): boolean =>
  text === undefined && thinking === '' && thoughts.length === 0

/** Reports whether a new stream can resume where this one ended. */
export const canResume = ({ hasContent, lastId }: Reading): boolean => !hasContent || lastId !== undefined
