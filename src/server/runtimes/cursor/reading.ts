import type { NewEvent, SessionEvent } from '../../../contract/events.ts'
import { listOf, recordOf, textOf } from '../../platform/json.ts'
import type { Branch } from './api.ts'

/** What has been read of one run so far. A value: the next event makes the next one. */
export interface Reading {
  readonly runId: string
  /** Text that is still being written, and the id that its `agent.message` will have. */
  readonly text: { readonly id: string; readonly text: string } | undefined
  /** The stretch of thinking that goes on; empty between two. */
  readonly thinking: string
  /** Stretches that came amid text: they are told right before it, so that one place in the stream covers both. */
  readonly thoughts: readonly string[]
  /** Tool calls by their id; an open one has no result yet. */
  readonly uses: ReadonlyMap<string, 'open' | 'settled'>
  /** Text of all its messages so far. */
  readonly said: string
  /** The result of the run itself was told. */
  readonly hasResult: boolean
  /** How the run ended, before its result has come. */
  readonly heldStatus: string | undefined
  /** What it has pushed; told with its end. */
  readonly branches: readonly Branch[]
  /** It was told to stop by us, so that its end is no failure. */
  readonly isCancelled: boolean
  /** The last event has been told. */
  readonly isOver: boolean
  /** Something of the run was taken in. */
  readonly hasContent: boolean
  /** The newest event. */
  readonly lastId: string | undefined
  /** The newest event of which all that was said is told. Whoever begins behind it misses nothing and repeats nothing. */
  readonly safeId: string | undefined
}

interface Beginning {
  readonly runId: string
  readonly lastEventId?: string | undefined
  readonly isCancelled?: boolean | undefined
}

/** Nothing read yet. */
export const newReading = ({ runId, lastEventId, isCancelled = false }: Beginning): Reading => ({
  runId,
  text: undefined,
  thinking: '',
  thoughts: [],
  uses: new Map(),
  said: '',
  hasResult: false,
  heldStatus: undefined,
  branches: [],
  isCancelled,
  isOver: false,
  hasContent: false,
  lastId: lastEventId,
  safeId: lastEventId,
})

/** What an owner before us had read, as the log tells it. `promptId` names the run's prompt. */
export async function readingFrom(
  history: AsyncIterable<SessionEvent>,
  promptId: string,
  beginning: Beginning,
): Promise<Reading> {
  let reading = newReading(beginning)
  let hasBegun = false
  for await (const event of history) {
    hasBegun ||= event.type === 'session.status_running' && event['prompt_id'] === promptId
    if (hasBegun) reading = withLogged(reading, event)
  }
  return reading
}

/** The reading after an event of ours that was stored. */
export function withLogged(reading: Reading, event: NewEvent): Reading {
  const useId = textOf(event['tool_use_id'])
  switch (event.type) {
    case 'agent.message':
      return { ...reading, hasContent: true, said: `${reading.said}${messageText(event)}` }
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

/** The text of an `agent.message` of ours. */
export const messageText = (event: NewEvent): string => textOf(recordOf(listOf(event['content'])[0])['text'])

/** True when nothing is held back. */
export const isSettled = ({ text, thinking, thoughts }: Reading): boolean =>
  text === undefined && thinking === '' && thoughts.length === 0

/** True when a new stream can go on where this one was. */
export const canResume = ({ hasContent, lastId }: Reading): boolean => !hasContent || lastId !== undefined
