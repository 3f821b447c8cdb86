import type { Pool } from 'pg'

export type ReplicaStore = ReturnType<typeof replicaStore>

/** The processes that share the database. */
export function replicaStore(pool: Pool) {
  return {
    /**
     * Records that the process is there, with the data folder that it runs sessions in; without one, what is recorded of
     * that stays. Rows of processes that are gone for a day are removed.
     */
    async seen(id: string, dataFolder?: string): Promise<void> {
      await pool.query(
        `with gone as (delete from replicas where seen_at < clock_timestamp() - interval '1 day' and id <> $1)
         insert into replicas (id, seen_at, data_folder) values ($1, clock_timestamp(), $2)
         on conflict (id) do update
         set seen_at = excluded.seen_at, data_folder = coalesce(excluded.data_folder, replicas.data_folder)`,
        [id, dataFolder],
      )
    },

    /** The data folders in which the other processes run sessions, of those that were there within the last 30 s. */
    async otherFolders(id: string): Promise<string[]> {
      const text = `
        select distinct data_folder from replicas
        where id <> $1 and data_folder is not null and seen_at > clock_timestamp() - interval '30 seconds'`
      const { rows } = await pool.query<{ data_folder: string }>(text, [id])
      return rows.map(({ data_folder }) => data_folder)
    },

    async remove(id: string): Promise<void> {
      await pool.query('delete from replicas where id = $1', [id])
    },
  }
}
