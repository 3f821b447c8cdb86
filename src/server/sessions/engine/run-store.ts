import type { Pool } from 'pg'
import type { SessionEvent } from '../../../contract/events.ts'
import { appended, columnsOf, type Lease, type NamedEvent, type Queryable, type StoredRow } from '../log/event-store.ts'

/** State of the run's prompts and of the session after the run. */
export interface EndState {
  readonly state: 'done' | 'error' | 'cancelled'
  readonly outcome: 'completed' | 'failed' | 'cancelled'
}

export interface Ended {
  /** Undefined when a later fence owns the session, or it was deleted. */
  readonly events: SessionEvent[] | undefined
  /** True when the lease was released, because no prompt can run. */
  readonly isReleased: boolean
}

interface EndRow {
  readonly seqs: number[] | null
  readonly times: Date[]
  readonly owner_id: string | null
  readonly is_released: boolean | null
}

const beginText = 'select * from begin_run($1, $2, $3, $4, $5, $6, $7, $8)'
const endText = 'select * from end_run($1, $2, $3, $4, $5, $6, $7, $8)'

/** Starts and ends runs, with one statement each. */
export type RunStore = ReturnType<typeof runStore>

export function runStore(pool: Pool) {
  return {
    /** Marks a waiting prompt as running and stores `events`. Returns undefined in the same cases as `appendFenced`. */
    async begin(
      { sessionId, fence }: Lease,
      { promptId, runId }: { readonly promptId: string; readonly runId: string },
      events: readonly NamedEvent[],
      on: Queryable = pool,
    ): Promise<SessionEvent[] | undefined> {
      const values = [sessionId, fence, promptId, runId, ...columnsOf(events)]
      const { rows } = await on.query<StoredRow>({ name: 'begin_run', text: beginText, values })
      return appended(on, sessionId, events, rows)
    },

    /** Ends every running prompt of the session, closes its approvals, and stores the last events of the run. */
    async end(
      { sessionId, fence }: Lease,
      { state, outcome }: EndState,
      events: readonly NamedEvent[],
      on: Queryable = pool,
    ): Promise<Ended> {
      const values = [sessionId, fence, state, outcome, ...columnsOf(events)]
      const { rows } = await on.query<EndRow>({ name: 'end_run', text: endText, values })
      const [{ seqs, times, owner_id, is_released } = noRow] = rows
      const stored = (seqs ?? []).map((seq, at) => ({
        seq: Number(seq),
        created_at: times[at] ?? new Date(),
        owner_id,
      }))
      return { events: appended(on, sessionId, events, stored), isReleased: is_released ?? false }
    },
  }
}

const noRow: EndRow = { seqs: null, times: [], owner_id: null, is_released: false }
