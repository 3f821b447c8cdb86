import type { View } from '../../../session-log/view.ts'

/** State of the stream of one session, for display. Times are milliseconds since 1970. */
export type Connection =
  | { readonly name: 'loading' }
  | { readonly name: 'connecting' }
  | { readonly name: 'live' }
  /** `retryAt` is undefined while a try is under way. */
  | { readonly name: 'lost'; readonly since: number; readonly retryAt: number | undefined; readonly reason: string }
  /** The tab is hidden; the stream continues when it is shown. */
  | { readonly name: 'asleep' }
  /** The session was deleted: there will be no further event. */
  | { readonly name: 'ended' }
  | { readonly name: 'failed'; readonly error: unknown }

/** What a new connection brought after a lost one. */
export interface CatchUp {
  readonly at: number
  readonly events: number
  readonly missed: number
  /** Sequence numbers that a connection had skipped, and that were loaded again. */
  readonly gaps: readonly number[]
}

export interface LogState {
  readonly view: View
  readonly connection: Connection
  readonly caughtUp: CatchUp | undefined
  readonly isLoadingOlder: boolean
  /** Error of the last try to load older events. */
  readonly olderError: unknown
}
