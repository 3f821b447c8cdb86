import type { Pool } from 'pg'
import type { RunSql } from '../db/once.ts'

/** Told to all processes when a credential or a model was changed. */
export const changeChannel = 'switchyard_models'

const rowsOf = (table: string): string =>
  `(select string_agg(id || ' ' || version || ' ' || extract(epoch from updated_at), ',' order by id) from ${table})`
const versionText = `
  select md5(concat(${rowsOf('provider_credentials')}, ';', ${rowsOf('deployments')})) as version`

/** A text that changes with every change of the tables `provider_credentials` and `deployments`. */
export async function settingsVersion(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ version: string }>(versionText)
  return rows[0]?.version ?? ''
}

/** Tells of a change in the transaction that makes it: heard after the commit, or never. */
export async function announceChange(sql: RunSql): Promise<void> {
  await sql('select pg_notify($1, $2)', [changeChannel, ''])
}
