import type { Config } from './config/config.ts'
import { createPool, isConnectionLoss } from './db/connect.ts'
import { embeddedUrl, startEmbeddedPostgres } from './db/embedded-postgres.ts'
import { AppError } from './platform/errors.ts'
import type { Log } from './platform/log.ts'

interface Inputs {
  readonly config: Pick<Config, 'databaseUrl' | 'dataDir'>
  readonly log: Log
}

interface OpenDatabase {
  readonly url: string
  /** Stops the embedded server if this call has started it. */
  close(): Promise<void>
}

/**
 * Returns the database of a configuration, for a command. Starts the embedded server unless a service already runs it.
 * Rejects with `unavailable` when there is no database.
 */
export async function openDatabase({ config, log }: Inputs): Promise<OpenDatabase> {
  const { databaseUrl, dataDir } = config
  const nothing = () => Promise.resolve()
  if (databaseUrl !== undefined) return { url: databaseUrl, close: nothing }
  const running = embeddedUrl(dataDir)
  if (running === undefined) throw new AppError('unavailable', `no database found in ${dataDir}`)
  if (await isServed(running)) return { url: running, close: nothing }
  const started = await startEmbeddedPostgres({ dataDir, log })
  return { url: started.url, close: () => started.stop() }
}

async function isServed(url: string): Promise<boolean> {
  const pool = createPool({ url, max: 1, connectTimeoutMs: 2_000, onLost: () => undefined })
  try {
    await pool.query('select')
    return true
  } catch (error) {
    if (isConnectionLoss(error)) return false
    throw error
  } finally {
    await pool.end()
  }
}
