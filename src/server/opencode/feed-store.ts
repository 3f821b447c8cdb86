import type { Pool } from 'pg'

/** A session whose log has grown, or that was made, within a time. */
export interface Changed {
  readonly id: string
  readonly owner_id: string
  readonly last: number
  /** Number of the last event before that time; 0 for none. */
  readonly before: number
  /** True when the session was made within that time. */
  readonly is_new: boolean
}

/** Reads of the tables of sessions that hear all of them. */
export type FeedStore = ReturnType<typeof feedStore>

export function feedStore(pool: Pool) {
  return {
    /** The sessions that changed in the last `withinMs`. */
    async changed(withinMs: number): Promise<Changed[]> {
      const text = `
        select s.id, s.owner_id, s.next_seq - 1 as last, s.created_at > start.at as is_new,
               coalesce((
                 select e.seq from session_events e where e.session_id = s.id and e.created_at <= start.at
                 order by e.seq desc limit 1
               ), 0) as before
        from sessions s, (select clock_timestamp() - $1 * interval '1 millisecond' as at) start
        where s.updated_at > start.at`
      const { rows } = await pool.query<Changed>(text, [withinMs])
      return rows
    },

    /**
     * Number of the first event that has to be known to understand event `first`: the oldest message of a prompt that had
     * not ended by then.
     */
    async contextOf(sessionId: string, first: number): Promise<number> {
      // The operators of JSON refuse a payload with the escape of NUL anywhere in it.
      const text = `
        with not_ended as (
          select p.id from prompts p
          where p.session_id = $1 and (p.ended_at is null or p.ended_at >= (
            select e.created_at from session_events e where e.session_id = $1 and e.seq = $2::bigint
          ))
        )
        select coalesce(min(m.seq), $2::bigint) as start from session_events m
        where m.session_id = $1 and m.seq < $2::bigint and m.type in ('user.message', 'user.compact') and exists (
          select from not_ended where strpos(m.payload::text, '"prompt_id":"' || not_ended.id || '"') > 0
        )`
      const { rows } = await pool.query<{ start: number }>(text, [sessionId, first])
      return rows[0]?.start ?? first
    },
  }
}
