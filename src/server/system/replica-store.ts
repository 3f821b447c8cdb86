import type { Pool } from 'pg'
import { ownerLockOf } from '../db/notifications.ts'

/** The processes that share the database, and the database itself. */
export type ReplicaStore = ReturnType<typeof replicaStore>

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

    /** Returns the processes that hold the lock of a live one, at most 100; `own` is always among them. */
    async alive(own: string): Promise<{ id: string; seen_at: Date | null }[]> {
      const { rows } = await pool.query<{ id: string; seen_at: Date | null }>(
        `select id, seen_at from (
           select id::text, seen_at from replicas
           union all select $1::text, null where not exists (select from replicas where id::text = $1::text)
         ) known
         where id = $1::text or exists (
           select from pg_locks l where l.locktype = 'advisory' and l.granted and l.objsubid = 1
             and (l.classid::bigint << 32 | l.objid::bigint) = ${ownerLockOf('known.id')}
             and l.database = (select oid from pg_database where datname = current_database())
         )
         order by id limit 100`,
        [own],
      )
      return rows
    },

    /** Returns the version of the database server and the last migration of its schema. */
    async database(): Promise<{ version: string; last_migration: string | null }> {
      const { rows } = await pool.query<{ version: string; last_migration: string | null }>(
        `select current_setting('server_version') as version, (select max(name) from schema_migrations) as last_migration`,
      )
      const [row] = rows
      if (!row) throw new Error('a select without a row (bug)')
      return row
    },
  }
}
