import type { Config } from './config/config.ts'
import { createPool, isConnectionLoss } from './db/connect.ts'
import { startEmbeddedPostgres } from './db/embedded-postgres.ts'
import { migrate } from './db/migrate.ts'
import { unreachableReason, whenReachable } from './db/reachable.ts'
import type { Keyring } from './platform/encryption.ts'
import { AppError } from './platform/errors.ts'
import type { Log } from './platform/log.ts'
import { openKeyring } from './secrets/keyring.ts'

interface Options {
  readonly config: Config
  readonly log: Log
  /** Ends the wait for an unreachable database. */
  readonly stop?: AbortSignal | undefined
}

interface Started {
  readonly kind: 'embedded' | 'external'
  readonly url: string
  /** Aborts when another process has taken over the data folder of the embedded database; the reason is an error. */
  readonly lost: AbortSignal
  /** Stops the embedded database; does nothing for an external one. */
  stop(): Promise<void>
}

/** Starts the embedded database, or returns the URL of the configured external one. */
export async function startDatabase({ config, log }: Omit<Options, 'stop'>): Promise<Started> {
  const lost = new AbortController()
  if (config.databaseUrl !== undefined) {
    return { kind: 'external', url: config.databaseUrl, lost: lost.signal, stop: async () => {} }
  }
  const { url, stop } = await startEmbeddedPostgres({
    dataDir: config.dataDir,
    log,
    processes: config.workers,
    onClaimed: error => lost.abort(error),
  })
  return { kind: 'embedded', url, lost: lost.signal, stop }
}

/** Migrates the database and loads its encryption keys. Waits up to `databaseWaitMs` for an unreachable database. */
export async function prepareDatabase(url: string, { config, log, stop }: Options): Promise<Keyring> {
  const pool = createPool({
    url,
    max: 1,
    onLost: error => log.debug({ err: error }, 'lost the migration connection'),
  })
  const waitMs = config.databaseWaitMs
  try {
    return await whenReachable(
      async () => {
        const applied = await migrate(pool)
        if (applied.length > 0) log.info({ migrations: applied }, 'applied database migrations')
        return await openKeyring({ pool, given: config.encryptionKeys, dataDir: config.dataDir })
      },
      {
        waitMs,
        signal: stop,
        onWait: error => log.warn(`${unreachableReason(url, error)}; retrying for ${Math.round(waitMs / 1_000)} s`),
      },
    )
  } catch (error) {
    if (!isConnectionLoss(error)) throw error
    const next = 'check that the database runs, and its address'
    throw new AppError('unavailable', `${unreachableReason(url, error)}; ${next}`, { cause: error })
  } finally {
    await pool.end()
  }
}
