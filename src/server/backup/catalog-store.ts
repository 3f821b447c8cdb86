import type { ClientBase } from 'pg'
import { type AppliedMigration, appliedMigrations } from '../db/migrate.ts'
import { ownerLockOf } from '../db/notifications.ts'
import type { BackupTable } from './format.ts'
import { inReferenceOrder } from './table-order.ts'

/** Tables whose rows mean nothing in another database: live processes, one-time tickets, and a cache. */
export const omittedTables: readonly string[] = ['replicas', 'response_cache', 'stream_tickets']

/** The migrations are in the manifest. */
const migrationTable = 'schema_migrations'

interface TableRow {
  readonly name: string
  readonly columns: string[]
  readonly identities: string[]
  readonly references: string[]
}

// Generated columns are computed again.
const tablesText = `
  select c.relname as name,
    array(select a.attname::text from pg_attribute a
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum) as columns,
    array(select a.attname::text from pg_attribute a
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        and pg_get_serial_sequence(c.oid::regclass::text, a.attname) is not null) as identities,
    array(select distinct r.relname::text from pg_constraint f join pg_class r on r.oid = f.confrelid
      where f.contype = 'f' and f.conrelid = c.oid and f.confrelid <> c.oid) as references
  from pg_class c
  where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
  order by c.relname`

const functionsText = `
  select p.oid::regprocedure::text as name from pg_proc p
  where p.pronamespace = current_schema()::regnamespace
    and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')`

const replicasText = `
  select count(*) as count from replicas r where exists (
    select from pg_locks l where l.locktype = 'advisory' and l.granted and l.objsubid = 1
      and (l.classid::bigint << 32 | l.objid::bigint) = ${ownerLockOf('r.id::text')}
      and l.database = (select oid from pg_database where datname = current_database()))`

/** Text and dates mean the same on both servers. */
const settingsText = `
  set local client_encoding = 'UTF8'; set local datestyle = 'ISO, YMD'; set local intervalstyle = 'postgres';
  set local timezone = 'UTC'; set local bytea_output = 'hex'; set local extra_float_digits = 1`

/** Returns a name as PostgreSQL quotes it. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

const listed = (names: readonly string[]): string => names.map(quoted).join(', ')

/** Tables, sequences and functions of the current schema, in the transaction of the caller. */
export type CatalogStore = ReturnType<typeof catalogStore>

export function catalogStore(client: ClientBase) {
  const tableRows = async (): Promise<TableRow[]> =>
    (await client.query<TableRow>(tablesText)).rows.filter(({ name }) => name !== migrationTable)

  async function lastValues({ name, identities }: TableRow): Promise<Record<string, number>> {
    const values: Record<string, number> = {}
    for (const column of identities) {
      const sequence = await client.query<{ name: string }>('select pg_get_serial_sequence($1, $2) as name', [
        quoted(name),
        column,
      ])
      const text = `select case when is_called then last_value else 0 end as last from ${sequence.rows[0]?.name}`
      values[column] = (await client.query<{ last: number }>(text)).rows[0]?.last ?? 0
    }
    return values
  }

  return {
    /** Begins a transaction that sees one state of all tables, which no migration can change meanwhile. */
    async beginSnapshot(): Promise<void> {
      const tables = (await tableRows()).map(({ name }) => name)
      await client.query('begin transaction isolation level repeatable read read only')
      await client.query(settingsText)
      if (tables.length > 0) await client.query(`lock table ${listed(tables)} in access share mode`)
    },

    /** Begins the transaction of a restore. */
    async begin(): Promise<void> {
      await client.query('begin')
      await client.query(settingsText)
    },

    migrations: (): Promise<AppliedMigration[] | undefined> => appliedMigrations(client),

    /** Returns the names of all tables. */
    async names(): Promise<string[]> {
      return (await tableRows()).map(({ name }) => name)
    },

    /** Returns the tables to back up, referenced ones first. */
    async tables(): Promise<BackupTable[]> {
      const rows = await tableRows()
      const tables: BackupTable[] = []
      for (const row of inReferenceOrder(rows)) {
        if (omittedTables.includes(row.name)) continue
        tables.push({ name: row.name, columns: row.columns, sequences: await lastValues(row) })
      }
      return tables
    },

    /** Returns the ids of the keys that encrypt stored values, whatever the version of the database. */
    async encryptionKeyIds(): Promise<string[]> {
      const rows = await tableRows()
      const encrypted = rows.filter(
        ({ name, columns }) =>
          columns.includes('sealed') && columns.includes('key_id') && !omittedTables.includes(name),
      )
      const parts = encrypted.map(({ name }) => `select key_id from ${quoted(name)} where sealed is not null`)
      if (parts.length === 0) return []
      const found = await client.query<{ key_id: string }>(`${parts.join(' union ')} order by 1`)
      return found.rows.map(({ key_id }) => key_id)
    },

    /** Returns the number of pieces of files that are in the object store. */
    async countObjects(): Promise<number> {
      const text = 'select count(*) as count from workspace_blobs where object_key is not null'
      return (await client.query<{ count: number }>(text)).rows[0]?.count ?? 0
    },

    /** Returns the version of the server, and the time of the transaction. */
    async server(): Promise<{ readonly version: string; readonly now: Date }> {
      const text = `select current_setting('server_version') as version, now() as now`
      const { rows } = await client.query<{ version: string; now: Date }>(text)
      return rows[0] ?? { version: 'unknown', now: new Date() }
    },

    /** Returns the tables that have rows. */
    async filled(): Promise<string[]> {
      const filled: string[] = []
      for (const { name } of await tableRows()) {
        const { rows } = await client.query<{ some: boolean }>(`select exists (select from ${quoted(name)}) as some`)
        if (rows[0]?.some) filled.push(name)
      }
      return filled
    },

    /** Returns how many processes of a service use the database: each holds a lock. */
    async countReplicas(): Promise<number> {
      return (await client.query<{ count: number }>(replicasText)).rows[0]?.count ?? 0
    },

    /** Drops all tables and functions of the schema. */
    async clear(): Promise<void> {
      const tables = [...(await tableRows()).map(({ name }) => name), migrationTable]
      await client.query(`drop table if exists ${listed(tables)} cascade`)
      const { rows } = await client.query<{ name: string }>(functionsText)
      for (const { name } of rows) await client.query(`drop function if exists ${name} cascade`)
    },

    /** Continues the sequences of a table after their values in the backup. */
    async setSequences({ name, sequences }: BackupTable): Promise<void> {
      for (const [column, last] of Object.entries(sequences)) {
        if (last === 0) continue
        await client.query('select setval(pg_get_serial_sequence($1, $2), $3)', [quoted(name), column, last])
      }
    },
  }
}
