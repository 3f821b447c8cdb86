import type { Pool } from 'pg'

/** The processes that share the database. */
export function replicaStore(pool: Pool) {
  return {
    /** Records that the process is alive. Removes rows of processes that have not been seen for a day. */
    async seen(id: string): Promise<void> {
      await pool.query(
        `with expired as (delete from replicas where seen_at < clock_timestamp() - interval '1 day' and id <> $1)
         insert into replicas (id, seen_at) values ($1, clock_timestamp())
         on conflict (id) do update set seen_at = excluded.seen_at`,
        [id],
      )
    },
  }
}
