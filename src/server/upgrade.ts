import type { Config } from './config/config.ts'
import { createPool } from './db/connect.ts'
import { startEmbeddedPostgres } from './db/embedded-postgres.ts'
import { locksOf, migrate, pendingMigrations } from './db/migrate.ts'
import type { MigrationLock } from './db/migration-locks.ts'
import type { Log } from './platform/log.ts'

interface Inputs {
  readonly config: Config
  readonly log: Log
  /** `plan` only lists the migrations that `apply` would run. */
  readonly mode: 'plan' | 'apply'
}

export interface Upgrade {
  readonly database: 'embedded' | 'external'
  /** Migrations that were applied, or would be, in order. */
  readonly migrations: readonly string[]
  /** What each of them does to a running service, in the same order. */
  readonly steps: readonly MigrationStep[]
}

/** One migration of a plan, or an applied one. */
export interface MigrationStep {
  readonly name: string
  /** Locks on existing tables, held until the migration has ended. */
  readonly locks: readonly MigrationLock[]
  /** How long it took; null in a plan. */
  readonly ms: number | null
}

/**
 * Migrates the database to this version of the program, or lists the pending migrations. Starts and stops the embedded
 * database for this. Rejects with `unavailable` when a server uses its folder.
 */
export async function upgradeDatabase({ config, log, mode }: Inputs): Promise<Upgrade> {
  const { databaseUrl, dataDir } = config
  const embedded = databaseUrl === undefined ? await startEmbeddedPostgres({ dataDir, log }) : undefined
  const pool = createPool({ url: databaseUrl ?? embedded?.url ?? '', max: 1, onLost: () => undefined })
  try {
    const times = new Map<string, number>()
    const migrations =
      mode === 'plan'
        ? await pendingMigrations(pool)
        : await migrate(pool, { onApplied: (name, ms) => times.set(name, ms) })
    const steps = migrations.map(name => ({ name, locks: locksOf(name), ms: times.get(name) ?? null }))
    return { database: embedded ? 'embedded' : 'external', migrations, steps }
  } finally {
    await pool.end()
    await embedded?.stop()
  }
}
