import { type Json, recordOf, recordsOf, textIn, textOf } from '../../platform/json.ts'
import type { PermissionRequest } from './api.ts'

/** A permission request of opencode that waits for a person. */
export interface PendingPermission extends Pick<PermissionRequest, 'id' | 'sessionId' | 'isOlder'> {
  /** Id of the `agent.tool_use` event in question. */
  readonly eventId: string
}

/** Progress of the run's prompt, stored in `runtime_state`. */
export interface State {
  /** The prompt that was sent last or was about to be sent. */
  readonly promptId: string
  /** The last message before it; empty when there was none. */
  readonly after: string
  /** The turn was interrupted with its server, and the prompt is sent again with an instruction to resume. */
  readonly isAgain: boolean
  readonly asks: readonly PendingPermission[]
}

/** Reads the state of a session; undefined when it belongs to another prompt. */
export function stateOf(stored: Json, promptId: string): State | undefined {
  if (textOf(stored['prompt_id']) !== promptId) return undefined
  return {
    promptId,
    after: textOf(stored['after']),
    isAgain: stored['again'] === true,
    asks: recordsOf(stored['asks']).flatMap(ask => permissionIn(ask) ?? []),
  }
}

function permissionIn(stored: Json): PendingPermission | undefined {
  const { id, session_id, event_id, older } = recordOf(stored)
  const eventId = textIn(event_id)
  if (eventId === undefined) return undefined
  return { id: textOf(id), sessionId: textOf(session_id), eventId, isOlder: older === true }
}

/** Returns the state in its stored form. */
export const storedState = ({ promptId, after, isAgain, asks }: State): Json => ({
  prompt_id: promptId,
  after,
  ...(isAgain && { again: true }),
  asks: asks.map(({ id, sessionId, eventId, isOlder }) => ({
    id,
    session_id: sessionId,
    event_id: eventId,
    ...(isOlder && { older: true }),
  })),
})
