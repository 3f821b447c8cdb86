import type { ClientBase } from 'pg'
import { type AppliedMigration, appliedMigrations, lockMigrations } from '../db/migrate.ts'
import { ownerLockOf } from '../db/notifications.ts'
import type { BackupTable } from './format.ts'
import { inReferenceOrder } from './table-order.ts'

/** Tables whose rows mean nothing in another database: live processes, one-time tickets, and a cache. */
export const omittedTables: readonly string[] = ['replicas', 'response_cache', 'stream_tickets']

/** The migrations are in the manifest. */
const migrationTable = 'schema_migrations'

/** State of a server at one moment. */
export interface ServerState {
  readonly version: string
  readonly now: Date
  /** No row has this transaction id or a later one. */
  readonly next_transaction: string
}

interface TableRow {
  readonly name: string
  readonly columns: string[]
  readonly identities: string[]
  readonly references: string[]
}

// Extensions, which managed servers install, have tables of their own.
const isOfExtension = (id: string): string =>
  `exists (select from pg_depend d where d.objid = ${id} and d.deptype = 'e')`

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
  where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and not ${isOfExtension('c.oid')}
  order by c.relname`

const relationsText = `
  select c.relname as name from pg_class c
  where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
    and not ${isOfExtension('c.oid')}
  order by 1`

const transactionColumnsText = `
  select a.attname as name from pg_attribute a
  where a.attrelid = to_regclass($1) and a.attnum > 0 and not a.attisdropped and a.atttypid = 'xid8'::regtype`

const functionsText = `
  select p.oid::regprocedure::text as name from pg_proc p
  where p.pronamespace = current_schema()::regnamespace and not ${isOfExtension('p.oid')}`

const replicasText = `
  select count(*) as count from replicas r where exists (
    select from pg_locks l where l.locktype = 'advisory' and l.granted and l.objsubid = 1
      and (l.classid::bigint << 32 | l.objid::bigint) = ${ownerLockOf('r.id::text')}
      and l.database = (select oid from pg_database where datname = current_database()))`

const resetName = 'switchyard_restore_transactions'

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

    /** Begins the transaction of a restore, during which no other process migrates. */
    async begin(): Promise<void> {
      await client.query('begin')
      await client.query(settingsText)
      await lockMigrations(client)
    },

    migrations: (): Promise<AppliedMigration[] | undefined> => appliedMigrations(client),

    /** Returns the names of all tables and views, but for the table of migrations. */
    async names(): Promise<string[]> {
      const { rows } = await client.query<{ name: string }>(relationsText)
      return rows.map(({ name }) => name).filter(name => name !== migrationTable)
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

    /** Returns the version of the server, the time of the transaction, and the next transaction id. */
    async server(): Promise<ServerState> {
      const text = `
        select current_setting('server_version') as version, now() as now,
          pg_snapshot_xmax(pg_current_snapshot())::text as next_transaction`
      const { rows } = await client.query<ServerState>(text)
      return rows[0] ?? { version: 'unknown', now: new Date(), next_transaction: '0' }
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

    /**
     * Stores 0 for the transaction ids in rows that are inserted into a table, until the returned function is called:
     * ids that this server has not reached would count as those of open transactions.
     */
    async resetTransactions(table: string): Promise<() => Promise<void>> {
      const { rows } = await client.query<{ name: string }>(transactionColumnsText, [quoted(table)])
      if (rows.length === 0) return () => Promise.resolve()
      const body = rows.map(({ name }) => `new.${quoted(name)} := '0';`).join(' ')
      await client.query(
        `create function ${resetName}() returns trigger language plpgsql as $body$ begin ${body} return new; end $body$;
         create trigger ${resetName} before insert on ${quoted(table)} for each row execute function ${resetName}()`,
      )
      return async () => void (await client.query(`drop function ${resetName} cascade`))
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
