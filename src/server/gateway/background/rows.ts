import type { BoundRow } from '../../db/encrypted-rows.ts'
import type { EncryptedValue } from '../../platform/encryption.ts'
import type { ResponseName } from '../responses/store.ts'

export type BackgroundStatus = 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled'

/** Encrypted request of a background response. */
export type RequestRow = BoundRow<'background_responses'> & EncryptedValue
/** Encrypted events with consecutive numbers; `place` is that of the first one, as `placeOf` writes it. */
export type EventRow = BoundRow<'background_events'> & EncryptedValue & { readonly last_event: number }

export interface NewResponse extends ResponseName {
  readonly apiKeyId: string | null
  readonly previousId: string | null
  readonly isStream: boolean
  readonly request: RequestRow
  /** The events that every background response begins with. */
  readonly events: EventRow
}

/** A background response that this process may write, until another claim raises its fence. */
export interface Claim extends ResponseName {
  readonly fence: number
  readonly api_key_id: string | null
  readonly previous_id: string | null
  readonly is_stream: boolean
  readonly status: BackgroundStatus
  readonly next_event: number
  /** This and earlier runs that neither ended nor were put back. */
  readonly starts: number
  readonly is_cancelled: boolean
  readonly created_at: Date
  readonly version: number
  /** The encrypted request. */
  readonly sealed: Buffer
}

/** What a response ends with. */
export interface NewEnd {
  readonly status: BackgroundStatus
  /** Number after the last event. */
  readonly nextEvent: number
  /** Last events; undefined for a response without a stream. */
  readonly events: EventRow | undefined
  /** Id of the deployment that served the response; empty if none did. */
  readonly deployment: string
  /** Id of the response at the upstream that stores it; null for a response that the gateway translated. */
  readonly upstreamId: string | null
  readonly content: BoundRow<'response_contents'> & EncryptedValue
}

/** State of a background response. */
export interface Progress {
  readonly status: BackgroundStatus
  readonly is_stream: boolean
  readonly next_event: number
}

/** Events from a position on. */
export interface EventPage {
  readonly status: BackgroundStatus
  readonly rows: readonly Omit<EventRow, 'key_id'>[]
}

/** Payers whose background responses are stopped; without a field all of them. */
export interface StoppedPayers {
  readonly principal: string | undefined
  readonly keys: readonly string[] | undefined
}

/** Announces that a response is ready to run. No payload. */
export const queuedChannel = 'background_queued'
/** Announces that a response must no longer run where it runs. The payload is its id. */
export const stoppedChannel = 'background_stopped'
/** Announces new events, or the end. The payload is the id of the response. */
export const eventsChannel = 'background_events'

/** Returns the number of an event as text that sorts like the number. */
export const placeOf = (event: number): string => String(event).padStart(10, '0')
