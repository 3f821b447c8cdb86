import type { SessionEvent } from '../../contract/events.ts'
import { createOpenRuns, type EndedRun, type OpenRun } from './open-runs.ts'
import { createOpenToolCalls, type EndedToolCall } from './open-tool-calls.ts'

/** What an event of a session belongs to. */
export interface Followed {
  /** The run of the session before the event; undefined without one in this process. */
  readonly run: OpenRun | undefined
  /** The run that the event ends. */
  readonly endedRun: EndedRun | undefined
  /** The tool call that the event ends. */
  readonly endedCall: EndedToolCall | undefined
}

/** Returns a function that follows the runs and tool calls of sessions. It must get every event once, in order. */
export function createSessionFollower(): (sessionId: string, event: SessionEvent) => Followed {
  const runs = createOpenRuns()
  const toolCalls = createOpenToolCalls()
  return (sessionId, event) => ({
    run: runs.of(sessionId),
    endedRun: runs.note(sessionId, event),
    endedCall: toolCalls.note(sessionId, event),
  })
}
