import { compact, countOf, isRecord, type Json, textIn } from '../../platform/json.ts'

/** The message of a prompt on its way. */
export interface SentMessage {
  readonly prompt_id: string
  /** Id of the last event that was there before it; null when there was none. */
  readonly before: string | null
  /** The server has said that it has it. */
  readonly is_sent: boolean
  /** Its id over there; null as long as nobody has told it. */
  readonly message_id: string | null
}

/** What a run must find again after a crash: `runtime_state` of the session. */
export interface RunState {
  readonly environment_id: string | undefined
  readonly message: SentMessage | undefined
  /** When the last event that was taken over was processed, by that server's clock. */
  readonly last_processed_at: string | undefined
  /** Stored events without an id that were seen so far: their place in the list is all that tells them apart. */
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

/** `runtime_state` that says so. */
export const storedState = (state: RunState): Json => compact({ ...state })
