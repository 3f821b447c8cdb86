import type { Config } from './config/config.ts'
import { createPool, isConnectionLoss } from './db/connect.ts'
import { startEmbeddedPostgres } from './db/embedded-postgres.ts'
import { migrate } from './db/migrate.ts'
import { unreachableReason, whenReachable } from './db/reachable.ts'
import { AppError } from './platform/errors.ts'
import type { Log } from './platform/log.ts'
import type { Keyring } from './platform/seal.ts'
import { openKeyring } from './secrets/keyring.ts'

interface Options {
  readonly config: Config
  readonly log: Log
  /** Ends the wait for a database that cannot be reached. */
  readonly stop?: AbortSignal | undefined
}

interface Started {
  readonly kind: 'embedded' | 'external'
  readonly url: string
  /** Aborts when another process took the data folder of the embedded database; its reason says so. */
  readonly lost: AbortSignal
  /** Ends the embedded database; an external one goes on. */
  stop(): Promise<void>
}

/** The database of the configuration: the embedded one is started, an external one is only named. */
export async function startDatabase({ config, log }: Omit<Options, 'stop'>): Promise<Started> {
  const lost = new AbortController()
  if (config.databaseUrl !== undefined) {
    return { kind: 'external', url: config.databaseUrl, lost: lost.signal, stop: async () => {} }
  }
  const { url, stop } = await startEmbeddedPostgres({
    dataDir: config.dataDir,
    log,
    processes: config.workers,
    onTaken: error => lost.abort(error),
  })
  return { kind: 'embedded', url, lost: lost.signal, stop }
}

/** Brings the database up to date, and finds the keys that open what it holds. Waits for a database that cannot be reached. */
export async function prepareDatabase(url: string, { config, log, stop }: Options): Promise<Keyring> {
  const pool = createPool({
    url,
    max: 1,
    onLost: error => log.debug({ err: error }, 'the migration connection was lost'),
  })
  const waitMs = config.databaseWaitMs
  try {
    return await whenReachable(
      async () => {
        const applied = await migrate(pool)
        if (applied.length > 0) log.info({ migrations: applied }, 'database brought up to date')
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
    const next = 'check that it runs, and its address'
    throw new AppError('unavailable', `${unreachableReason(url, error)}; ${next}`, { cause: error })
  } finally {
    await pool.end()
  }
}
