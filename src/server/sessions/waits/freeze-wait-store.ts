import type { Pool } from 'pg'
import type { Queryable } from '../log/event-store.ts'

/** True for a wait `w` of session `s`, queued by key `k` (or by none), whose payers a freeze stops. As `Freezes.stopOf`. */
const isFrozen = `
  exists (
    select from freezes f where f.scope = 'all'
      or (f.scope = 'owner' and f.scope_id = coalesce(nullif(s.owner_id, ''), k.owner_id))
      or (f.scope = 'key' and f.scope_id = any (k.id || k.ancestors)))`

/** Rows of table `waits` whose prompts a freeze has stopped. */
export type FreezeWaitStore = ReturnType<typeof freezeWaitStore>

export function freezeWaitStore(pool: Pool) {
  return {
    /** Sessions that wait for freezes of which none is left. */
    async thawed(limit: number): Promise<string[]> {
      const text = `
        select distinct w.session_id from waits w join sessions s on s.id = w.session_id left join api_keys k on k.id = w.key_id
        where w.kind = 'freeze' and s.deleted_at is null and not ${isFrozen} limit $1`
      const { rows } = await pool.query<{ session_id: string }>({ name: 'thawed', text, values: [limit] })
      return rows.map(({ session_id }) => session_id)
    },

    /** Ends these waits of a session. False when somebody else did. */
    async end(on: Queryable, sessionId: string): Promise<boolean> {
      const { rowCount } = await on.query(`delete from waits where session_id = $1 and kind = 'freeze'`, [sessionId])
      return (rowCount ?? 0) > 0
    },
  }
}
