import type { Pool } from 'pg'

/** The processes that share the database. */
export function replicaStore(pool: Pool) {
  return {
    /** Records that the process is there. Rows of processes that are gone for a day are removed. */
    async seen(id: string): Promise<void> {
      await pool.query(
        `with gone as (delete from replicas where seen_at < clock_timestamp() - interval '1 day' and id <> $1)
         insert into replicas (id, seen_at) values ($1, clock_timestamp())
         on conflict (id) do update set seen_at = excluded.seen_at`,
        [id],
      )
    },
  }
}
