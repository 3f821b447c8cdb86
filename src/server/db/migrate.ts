import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Pool, PoolClient, QueryConfig } from 'pg'
import { AppError, DatabaseUnavailable } from '../platform/errors.ts'
import { transaction } from './connect.ts'

const ourFolder = join(import.meta.dirname, 'migrations')

/** Any number, as long as it never changes: all servers of one database must take the same lock. */
const lockKey = 7_239_481_036

const oldestVersion = 15

interface Migration {
  readonly name: string
  readonly sql: string
  readonly checksum: string
}

interface Options {
  /** Folder of `NNNN-name.sql` files; the service's own by default. */
  readonly folder?: string
}

/**
 * Brings the database to this version of the program; the names that were applied now. Several servers may call it at
 * once. `unavailable`, with the way out in the message, when the database is too old, too new, or was changed.
 */
export async function migrate(pool: Pool, { folder = ourFolder }: Options = {}): Promise<string[]> {
  const migrations = readMigrations(folder)
  const done: string[] = []
  for (;;) {
    if ((await pending(pool, migrations)).length === 0) return done
    const name = await transaction(pool, client => applyNext(client, migrations))
    if (name) done.push(name)
  }
}

/** The names that `migrate` would apply, in order; the same refusals. */
export async function pendingMigrations(pool: Pool, { folder = ourFolder }: Options = {}): Promise<string[]> {
  const found = await pending(pool, readMigrations(folder))
  return found.map(({ name }) => name)
}

function readMigrations(folder: string): Migration[] {
  const names = readdirSync(folder).filter(name => name.endsWith('.sql'))
  return names.sort().map(name => {
    // Git may write other line ends on Windows; the checksum must not see them.
    const sql = readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n')
    return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
  })
}

async function pending(connection: Pool | PoolClient, migrations: readonly Migration[]): Promise<Migration[]> {
  const { rows } = await connection.query<{ version: number; exists: boolean }>(
    `select current_setting('server_version_num')::int as version, to_regclass('schema_migrations') is not null as exists`,
  )
  const { version = 0, exists = false } = rows[0] ?? {}
  refuseOldServer(Math.floor(version / 10_000))
  if (!exists) return [...migrations]
  const applied = await connection.query<{ name: string; checksum: string }>(
    'select name, checksum from schema_migrations order by name',
  )
  const checksums = new Map(applied.rows.map(row => [row.name, row.checksum]))
  refuseNewerDatabase([...checksums.keys()], migrations)
  refuseChanges(checksums, migrations)
  return migrations.filter(({ name }) => !checksums.has(name))
}

/** Applies the first pending migration, alone in its transaction; its name, or undefined when another server did it. */
async function applyNext(client: PoolClient, migrations: readonly Migration[]): Promise<string | undefined> {
  await client.query('set local statement_timeout = 0')
  // Of the transaction, not of the session: it also holds behind a connection pooler, and a killed server frees it.
  await client.query(patient('select pg_advisory_xact_lock($1)', [lockKey]))
  await client.query(
    `create table if not exists schema_migrations (
      name text primary key, checksum text not null, applied_at timestamptz not null default clock_timestamp())`,
  )
  const [next] = await pending(client, migrations)
  if (!next) return undefined
  await client.query(patient(next.sql)).catch(error => {
    const cause: unknown = error instanceof DatabaseUnavailable ? error.cause : error
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new AppError('unavailable', `migration ${next.name} failed and was undone: ${reason}`, { cause: error })
  })
  await client.query('insert into schema_migrations (name, checksum) values ($1, $2)', [next.name, next.checksum])
  return next.name
}

/** Lifts the pool's own time limit: a migration of a large table takes as long as it takes. */
function patient(text: string, values?: unknown[]): QueryConfig {
  const query = { text, query_timeout: 24 * 3_600_000 }
  return values ? { ...query, values } : query
}

function refuseOldServer(version: number): void {
  if (version >= oldestVersion) return
  throw new AppError(
    'unavailable',
    `the database is PostgreSQL ${version}, but at least ${oldestVersion} is needed. Upgrade it, or give another DATABASE_URL`,
  )
}

/**
 * A migration that takes something away is named `NNNN-contract-...`. All others only add, so that the version before runs
 * beside the new one, and can be put back.
 */
const takesAway = /^\d+-contract-/

function refuseNewerDatabase(applied: readonly string[], migrations: readonly Migration[]): void {
  const known = new Set(migrations.map(({ name }) => name))
  const unknown = applied.filter(name => !known.has(name) && takesAway.test(name))
  if (unknown.length === 0) return
  throw new AppError(
    'unavailable',
    `the database was upgraded by a newer version of Switchyard (it has ${unknown.join(', ')}). ` +
      'Start that version again, or restore the backup from before the upgrade',
  )
}

function refuseChanges(applied: ReadonlyMap<string, string>, migrations: readonly Migration[]): void {
  const changed = migrations.filter(({ name, checksum }) => applied.has(name) && applied.get(name) !== checksum)
  if (changed.length === 0) return
  throw new AppError(
    'unavailable',
    `${changed.map(({ name }) => name).join(', ')} was applied to this database with other contents. ` +
      'Install an unchanged copy of Switchyard; a change of the schema goes in a new migration file',
  )
}
