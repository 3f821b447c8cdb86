import type { Pool } from 'pg'

/** Returns the time of the database, which all replicas share. */
export async function databaseTime(on: Pick<Pool, 'query'>): Promise<Date> {
  return (await on.query<{ now: Date }>('select clock_timestamp() as now')).rows[0]?.now ?? new Date()
}
