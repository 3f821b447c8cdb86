import type { Pool } from 'pg'

/** A session that was created, or whose log has grown, within a period. */
export interface ChangedSession {
  readonly id: string
  readonly owner_id: string
  readonly last: number
  /** Number of the last event before that period; 0 when there is none. */
  readonly before: number
  /** True when the session was created within that period. */
  readonly is_new: boolean
}

/** Queries over all sessions, for the feed. */
export type FeedStore = ReturnType<typeof feedStore>

export function feedStore(pool: Pool) {
  return {
    /** Returns the sessions that changed in the last `withinMs`. */
    async changed(withinMs: number): Promise<ChangedSession[]> {
      const text = `
        select s.id, s.owner_id, s.next_seq - 1 as last, s.created_at > start.at as is_new,
               coalesce((
                 select e.seq from session_events e where e.session_id = s.id and e.created_at <= start.at
                 order by e.seq desc limit 1
               ), 0) as before
        from sessions s, (select clock_timestamp() - $1 * interval '1 millisecond' as at) start
        where s.updated_at > start.at`
      const { rows } = await pool.query<ChangedSession>(text, [withinMs])
      return rows
    },

    /**
     * Returns the number of the first event that is needed to translate event `first`: the oldest message of a prompt
     * that had not ended by then.
     */
    async contextOf(sessionId: string, first: number): Promise<number> {
      // JSON operators cannot be used: they fail on a payload with an escaped NUL.
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
