import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ClientBase, Pool, QueryConfig } from 'pg'
import { AppError, DatabaseUnavailable } from '../platform/errors.ts'
import { transaction } from './connect.ts'
import { locksOfMigration, type MigrationLock } from './migration-locks.ts'

const ourFolder = join(import.meta.dirname, 'migrations')

/** Arbitrary, but must never change: all processes of a database must take the same lock. */
const lockKey = 7_239_481_036

const minVersion = 15

const createTable = `
  create table if not exists schema_migrations (
    name text primary key, checksum text not null, applied_at timestamptz not null default clock_timestamp())`

interface Migration {
  readonly name: string
  readonly sql: string
  readonly checksum: string
}

interface Options {
  /** Folder of `NNNN-name.sql` files; that of the service by default. */
  readonly folder?: string
  /** Called after each migration with its name and how long it took. */
  readonly onApplied?: (name: string, ms: number) => void
}

/**
 * Migrates the database to this version; returns the names of the applied migrations. Concurrent calls are safe.
 * Rejects with `unavailable`, with the next step, if the database is too old, too new, or has modified migrations.
 */
export async function migrate(pool: Pool, { folder = ourFolder, onApplied }: Options = {}): Promise<string[]> {
  const migrations = readMigrations(folder)
  const done: string[] = []
  for (;;) {
    if ((await pending(pool, migrations)).length === 0) return done
    const startedAt = performance.now()
    const name = await transaction(pool, client => applyNext(client, migrations))
    if (!name) continue
    done.push(name)
    onApplied?.(name, Math.round(performance.now() - startedAt))
  }
}

/** Returns the names that `migrate` would apply, in order. Rejects like `migrate`. */
export async function pendingMigrations(pool: Pool, { folder = ourFolder }: Options = {}): Promise<string[]> {
  const found = await pending(pool, readMigrations(folder))
  return found.map(({ name }) => name)
}

/** A migration that a database has. */
export interface AppliedMigration {
  readonly name: string
  readonly checksum: string
}

/** Returns the migrations of a database in order; undefined when it was never migrated. */
export async function appliedMigrations(connection: ClientBase): Promise<AppliedMigration[] | undefined> {
  const found = await connection.query<{ exists: boolean }>(
    `select to_regclass('schema_migrations') is not null as exists`,
  )
  if (!found.rows[0]?.exists) return undefined
  const text = 'select name, checksum from schema_migrations order by name'
  return (await connection.query<AppliedMigration>(text)).rows
}

/** Keeps other processes from migrating until the caller's transaction ends. Rejects a server that is too old. */
export async function lockMigrations(client: ClientBase): Promise<void> {
  await client.query('select pg_advisory_xact_lock($1)', [lockKey])
  rejectOldServer(await versionOf(client))
}

/**
 * Creates the schema of exactly these migrations in an empty database, in the caller's transaction, which must hold the
 * lock. Rejects with `unavailable` when this version does not have one of them.
 */
export async function applyExactly(
  client: ClientBase,
  wanted: readonly AppliedMigration[],
  { folder = ourFolder }: Options = {},
): Promise<void> {
  const migrations = migrationsOf(wanted, folder)
  await client.query(createTable)
  for (const { name, sql, checksum } of migrations) {
    await client.query(sql)
    await client.query('insert into schema_migrations (name, checksum) values ($1, $2)', [name, checksum])
  }
}

/** Applies pending migrations in the caller's transaction, together; returns their names. */
export async function applyPending(client: ClientBase): Promise<string[]> {
  const migrations = readMigrations(ourFolder)
  const names: string[] = []
  for (;;) {
    const name = await applyNext(client, migrations)
    if (name === undefined) return names
    names.push(name)
  }
}

/** Rejects like `applyExactly`, without a database. */
export const rejectUnknown = (wanted: readonly AppliedMigration[]): void => void migrationsOf(wanted, ourFolder)

/** Returns the locks that a migration of this version takes on existing tables. */
export function locksOf(name: string): MigrationLock[] {
  const migration = readMigrations(ourFolder).find(found => found.name === name)
  return migration ? locksOfMigration(migration.sql) : []
}

function migrationsOf(wanted: readonly AppliedMigration[], folder: string): Migration[] {
  const known = new Map(readMigrations(folder).map(migration => [migration.name, migration]))
  const unknown = wanted.filter(({ name, checksum }) => known.get(name)?.checksum !== checksum)
  if (unknown.length > 0) {
    const names = unknown.map(({ name }) => name).join(', ')
    throw new AppError('unavailable', `this version of Switchyard does not have the migrations ${names}`)
  }
  return wanted.flatMap(({ name }) => known.get(name) ?? [])
}

function readMigrations(folder: string): Migration[] {
  const names = readdirSync(folder).filter(name => name.endsWith('.sql'))
  return names.sort().map(name => {
    // Git may write other line endings on Windows, which must not change the checksum.
    const sql = readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n')
    return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
  })
}

async function pending(connection: Pool | ClientBase, migrations: readonly Migration[]): Promise<Migration[]> {
  const { rows } = await connection.query<{ version: number; exists: boolean }>(
    `select current_setting('server_version_num')::int as version, to_regclass('schema_migrations') is not null as exists`,
  )
  const { version = 0, exists = false } = rows[0] ?? {}
  rejectOldServer(Math.floor(version / 10_000))
  if (!exists) return [...migrations]
  const applied = await connection.query<{ name: string; checksum: string }>(
    'select name, checksum from schema_migrations order by name',
  )
  const checksums = new Map(applied.rows.map(row => [row.name, row.checksum]))
  rejectNewerDatabase([...checksums.keys()], migrations)
  rejectChanges(checksums, migrations)
  return migrations.filter(({ name }) => !checksums.has(name))
}

/** Applies the first pending migration in its own transaction; returns its name, or undefined if none is pending. */
async function applyNext(client: ClientBase, migrations: readonly Migration[]): Promise<string | undefined> {
  await client.query('set local statement_timeout = 0')
  // A transaction lock, not a session lock: it works with connection poolers, and a killed process releases it.
  await client.query(withoutTimeout('select pg_advisory_xact_lock($1)', [lockKey]))
  await client.query(createTable)
  const [next] = await pending(client, migrations)
  if (!next) return undefined
  await client.query(withoutTimeout(next.sql)).catch(error => {
    const cause: unknown = error instanceof DatabaseUnavailable ? error.cause : error
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new AppError('unavailable', `migration ${next.name} failed and was rolled back: ${reason}`, { cause: error })
  })
  await client.query('insert into schema_migrations (name, checksum) values ($1, $2)', [next.name, next.checksum])
  return next.name
}

/** Overrides the query timeout of the pool, since migrations of large tables may take long. */
function withoutTimeout(text: string, values?: unknown[]): QueryConfig {
  const query = { text, query_timeout: 24 * 3_600_000 }
  return values ? { ...query, values } : query
}

async function versionOf(client: ClientBase): Promise<number> {
  const text = `select current_setting('server_version_num')::int as version`
  return Math.trunc(((await client.query<{ version: number }>(text)).rows[0]?.version ?? 0) / 10_000)
}

function rejectOldServer(version: number): void {
  if (version >= minVersion) return
  throw new AppError(
    'unavailable',
    `database runs PostgreSQL ${version}, but ${minVersion} or newer is required; upgrade it, or set another DATABASE_URL`,
  )
}

/**
 * Migrations that remove something are named `NNNN-contract-...`. All others only add, so that the previous version can
 * run together with the new one, and a downgrade is possible.
 */
const isContracting = /^\d+-contract-/

function rejectNewerDatabase(applied: readonly string[], migrations: readonly Migration[]): void {
  const known = new Set(migrations.map(({ name }) => name))
  const unknown = applied.filter(name => !known.has(name) && isContracting.test(name))
  if (unknown.length === 0) return
  throw new AppError(
    'unavailable',
    `database was migrated by a newer version of Switchyard (it has ${unknown.join(', ')}); ` +
      'start that version, or restore the backup from before the upgrade',
  )
}

function rejectChanges(applied: ReadonlyMap<string, string>, migrations: readonly Migration[]): void {
  const changed = migrations.filter(({ name, checksum }) => applied.has(name) && applied.get(name) !== checksum)
  if (changed.length === 0) return
  throw new AppError(
    'unavailable',
    `${changed.map(({ name }) => name).join(', ')} was applied to this database with different content; ` +
      'install an unmodified copy of Switchyard, and put schema changes in a new migration file',
  )
}
