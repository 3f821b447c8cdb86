import { type Json, recordOf, recordsOf, textIn, textOf } from '../../platform/json.ts'
import type { PermissionRequest } from './api.ts'

/** A question of opencode that waits for a person. */
export interface Ask extends Pick<PermissionRequest, 'id' | 'sessionId' | 'isOlder'> {
  /** Of the `agent.tool_use` that it is about. */
  readonly eventId: string
}

/** What `runtime_state` holds: how far the prompt of this run has come. */
export interface State {
  /** The prompt that was sent last, or was about to be. */
  readonly promptId: string
  /** The last message that was there before it; empty for none. */
  readonly after: string
  /** The turn was cut off with its server, and the prompt is sent again in other words. */
  readonly isAgain: boolean
  readonly asks: readonly Ask[]
}

/** Reads the state of a session; undefined when it is not that of this prompt. */
export function stateOf(stored: Json, promptId: string): State | undefined {
  if (textOf(stored['prompt_id']) !== promptId) return undefined
  return {
    promptId,
    after: textOf(stored['after']),
    isAgain: stored['again'] === true,
    asks: recordsOf(stored['asks']).flatMap(ask => askIn(ask) ?? []),
  }
}

function askIn(stored: Json): Ask | undefined {
  const { id, session_id, event_id, older } = recordOf(stored)
  const eventId = textIn(event_id)
  if (eventId === undefined) return undefined
  return { id: textOf(id), sessionId: textOf(session_id), eventId, isOlder: older === true }
}

/** The state as it is stored. */
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
