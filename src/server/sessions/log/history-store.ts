import type { Pool } from 'pg'
import { contextCompacted } from '../../../contract/events.ts'
import { type Row, toEvent } from './event-store.ts'
import type { SizedPage } from './history-cache.ts'

const columns = 'seq, id, type, payload, created_at, coalesce(bytes, octet_length(payload::text)) as bytes'
const compactionType = 'agent.thread_context_compacted'

const afterText = `
  select ${columns} from session_events where session_id = $1 and seq > $2 order by seq limit $3`

/** Returns the last compaction, or else the start of the log: most logs have none and need only this statement. */
const firstText = `
  with compaction as (
    select ${columns} from session_events where session_id = $1 and type = '${compactionType}' order by seq desc limit 1
  )
  select * from compaction
  union all (
    select ${columns} from session_events where session_id = $1 and not exists (select from compaction) order by seq limit $2
  )
  order by seq`

const retainedText = `
  select ${columns} from session_events where session_id = $1 and seq = any ($3)
  union all (select ${columns} from session_events where session_id = $1 and seq >= $2 order by seq limit $4)
  order by seq`

interface SizedRow extends Row {
  readonly bytes: number
}

const sized = (rows: readonly SizedRow[]): SizedPage => ({
  events: rows.map(toEvent),
  bytes: rows.reduce((sum, { bytes }) => sum + bytes, 0),
})

/** Table `session_events` as runs read it to build a conversation. */
export type HistoryStore = ReturnType<typeof historyStore>

export function historyStore(pool: Pool) {
  /** Returns up to `limit` events after `seq`, in order, with their approximate size. */
  async function after(sessionId: string, seq: number, limit: number): Promise<SizedPage> {
    const { rows } = await pool.query<SizedRow>({ name: 'history', text: afterText, values: [sessionId, seq, limit] })
    return sized(rows)
  }

  return {
    after,

    /**
     * Returns the first events that the last compaction retained, and the user messages that it names; without a
     * compaction the first events of the log.
     */
    async firstRetained(sessionId: string, limit: number): Promise<SizedPage> {
      const first = await pool.query<SizedRow>({ name: 'first_kept', text: firstText, values: [sessionId, limit] })
      const [only] = first.rows
      if (only?.type !== compactionType) return sized(first.rows)
      const compaction = contextCompacted(toEvent(only))
      // An internal compaction of another runtime does not apply to this log.
      if (!compaction) return after(sessionId, 0, limit)
      const { kept_from_seq, waiting_seqs } = compaction
      const values = [sessionId, kept_from_seq, waiting_seqs, limit]
      return sized((await pool.query<SizedRow>({ name: 'kept', text: retainedText, values })).rows)
    },
  }
}
