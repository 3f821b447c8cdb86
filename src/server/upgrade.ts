import type { Config } from './config/config.ts'
import { createPool } from './db/connect.ts'
import { startEmbeddedPostgres } from './db/embedded-postgres.ts'
import { migrate, pendingMigrations } from './db/migrate.ts'
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
    const migrations = mode === 'plan' ? await pendingMigrations(pool) : await migrate(pool)
    return { database: embedded ? 'embedded' : 'external', migrations }
  } finally {
    await pool.end()
    await embedded?.stop()
  }
}
