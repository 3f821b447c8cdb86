import type { Kysely, Transaction } from 'kysely'
import type { Pool } from 'pg'
import type { Database } from '../db/database.ts'

/** Channel that notifies all processes of a changed credential or model. */
export const changeChannel = 'switchyard_models'

const rowsOf = (table: string): string =>
  `(select string_agg(id || ' ' || version || ' ' || extract(epoch from updated_at), ',' order by id) from ${table})`
const versionText = `
  select md5(concat(${rowsOf('provider_credentials')}, ';', ${rowsOf('deployments')})) as version`

/** Returns a version that changes with the tables `provider_credentials` and `deployments`. */
export async function settingsVersion(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ version: string }>(versionText)
  return rows[0]?.version ?? ''
}

/** Runs changes in transactions, and calls `announce` after each commit to notify all processes. */
export const changesOf =
  (db: Kysely<Database>, announce: () => void) =>
  async <T>(work: (trx: Transaction<Database>) => Promise<T>): Promise<T> => {
    const result = await db.transaction().execute(work)
    announce()
    return result
  }
