import type { Pool } from 'pg'
import type { Queryable } from '../log/event-store.ts'

/** SQL: a freeze stops a payer of wait `w`, with session `s` and key `k` (if any). Must match `Freezes.stopOf`. */
const isFrozen = `
  exists (
    select from freezes f where f.scope = 'all'
      or (f.scope = 'owner' and f.scope_id = coalesce(nullif(s.owner_id, ''), owner_of_key(k.owner_id, k.user_id, k.team_id)))
      or (f.scope = 'key' and f.scope_id = any (k.id || k.ancestors)))`

/** Rows of table `waits` whose prompts a freeze has stopped. */
export type FreezeWaitStore = ReturnType<typeof freezeWaitStore>

export function freezeWaitStore(pool: Pool) {
  return {
    /** Returns sessions that wait for freezes that were all lifted. */
    async unfrozen(limit: number): Promise<string[]> {
      const text = `
        select distinct w.session_id from waits w join sessions s on s.id = w.session_id left join api_keys k on k.id = w.key_id
        where w.kind = 'freeze' and s.deleted_at is null and not ${isFrozen} limit $1`
      const { rows } = await pool.query<{ session_id: string }>({ name: 'thawed', text, values: [limit] })
      return rows.map(({ session_id }) => session_id)
    },

    /** Ends these waits of a session. Returns false when another process did. */
    async end(on: Queryable, sessionId: string): Promise<boolean> {
      const { rowCount } = await on.query(`delete from waits where session_id = $1 and kind = 'freeze'`, [sessionId])
      return (rowCount ?? 0) > 0
    },
  }
}
