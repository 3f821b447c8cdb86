import { compact, countOf, isRecord, type Json, textIn } from '../../platform/json.ts'

/** Delivery state of a prompt's message. */
export interface SentMessage {
  readonly prompt_id: string
  /** Id of the last event before it; null when there was none. */
  readonly before: string | null
  /** The server has confirmed it. */
  readonly is_sent: boolean
  /** Its id at the provider; null while unknown. */
  readonly message_id: string | null
}

/** State that a run needs after a crash: `runtime_state` of the session. */
export interface RunState {
  readonly environment_id: string | undefined
  readonly message: SentMessage | undefined
  /** When the last stored event was processed, by the server's clock. */
  readonly last_processed_at: string | undefined
  /** Number of events without an id so far: only their place in the list distinguishes them. */
  readonly unnamed: number
}

/** Reads `runtime_state`. */
export function runStateOf(stored: Json): RunState {
  const message = stored['message']
  return {
    environment_id: textIn(stored['environment_id']),
    message: isRecord(message)
      ? {
          prompt_id: String(message['prompt_id']),
          before: textIn(message['before']) ?? null,
          is_sent: message['is_sent'] === true,
          message_id: textIn(message['message_id']) ?? null,
        }
      : undefined,
    last_processed_at: textIn(stored['last_processed_at']),
    unnamed: countOf(stored['unnamed']) ?? 0,
  }
}

/** Returns the `runtime_state` to store. */
export const storedState = (state: RunState): Json => compact({ ...state })
