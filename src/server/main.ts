import { access, constants, mkdir } from 'node:fs/promises'
import type { Composed } from './compose.ts'
import type { Config } from './config/config.ts'
import { type ConfigWatch, watchConfig } from './config/watch.ts'
import { createPool } from './db/connect.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from './db/embedded-postgres.ts'
import { migrate } from './db/migrate.ts'
import { AppError } from './platform/errors.ts'
import type { Log } from './platform/log.ts'
import type { Keyring } from './platform/seal.ts'
import { pause } from './platform/timers.ts'
import { openKeyring } from './secrets/keyring.ts'

interface Options {
  readonly config: Config
  readonly log: Log
  /** Reads the configuration anew. With it the service follows its configuration file. */
  readonly reread?: (() => Config) | undefined
}

interface StopOptions {
  /** How long to go on serving after readiness has turned to 503, so that load balancers notice. */
  readonly serveOnMs?: number
}

/** A server that answers. */
export interface RunningServer {
  readonly url: string
  readonly database: 'embedded' | 'external'
  readonly sandboxDriver: string
  readonly models: readonly string[]
  /** Aborts when the server cannot go on; its reason is an error that says why. Stop it and end the process then. */
  readonly lost: AbortSignal
  /** Reads the configuration file again now. Nothing happens without one. */
  reload(): void
  /** Stops cleanly within 30 s: requests finish, sessions are handed over, everything acknowledged is stored. */
  stop(options?: StopOptions): Promise<void>
}

const finishMs = 20_000
const longestStopMs = 27_000

/** Brings the database up to date and the service up. Rejects with AppError whose message names cause and next step. */
export async function startServer({ config, log, reread }: Options): Promise<RunningServer> {
  const lost = new AbortController()
  const onTaken = (error: Error) => lost.abort(error)
  if (config.databaseUrl !== undefined) await prepareDataFolder(config)
  const embedded =
    config.databaseUrl === undefined
      ? await startEmbeddedPostgres({ dataDir: config.dataDir, log, onTaken })
      : undefined
  const databaseUrl = config.databaseUrl ?? embedded?.url ?? ''
  let composed: Composed | undefined
  try {
    const keyring = await prepareDatabase(databaseUrl, { config, log })
    // Loaded now and not before: a start that is refused, such as a second one on the data folder, ends in time.
    const { compose } = await import('./compose.ts')
    const server = await compose({ config, log, databaseUrl, keyring })
    composed = server
    await server.start()
    const url = await listen(server, config)
    const watching =
      reread && config.file !== undefined
        ? watchConfig({ path: config.file, config, read: reread, apply: server.reload, log })
        : undefined
    return {
      ...describe(server, embedded, url),
      lost: lost.signal,
      reload: () => watching?.reload(),
      stop: options => stopAll({ composed: server, embedded, watching }, options),
    }
  } catch (error) {
    await composed?.stop(0).catch(cause => log.debug({ err: cause }, 'stopping a half-started server'))
    await embedded?.stop()
    throw error
  }
}

/** The sessions' files are there, also when the database is elsewhere. */
async function prepareDataFolder({ dataDir }: Config): Promise<void> {
  try {
    await mkdir(dataDir, { recursive: true })
    await access(dataDir, constants.W_OK)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new AppError(
      'unavailable',
      `the data folder ${dataDir} cannot be written: ${reason}. Make it writable for this user, or set SWITCHYARD_DATA_DIR`,
      { cause },
    )
  }
}

/** Brings the database up to date, and finds the keys that open what it holds. */
async function prepareDatabase(url: string, { config, log }: Options): Promise<Keyring> {
  const pool = createPool({
    url,
    max: 1,
    onLost: error => log.debug({ err: error }, 'the migration connection was lost'),
  })
  try {
    const applied = await migrate(pool)
    if (applied.length > 0) log.info({ migrations: applied }, 'database brought up to date')
    return await openKeyring({ pool, given: config.encryptionKeys, dataDir: config.dataDir })
  } finally {
    await pool.end()
  }
}

/** Connections that wait to be accepted: thousands of clients may come back at the same moment. */
const backlog = 4_096

async function listen({ app }: Composed, { host, port }: Config): Promise<string> {
  try {
    await app.listen({ host, port, backlog })
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'EADDRINUSE') {
      throw new AppError('unavailable', `port ${port} is in use; stop the other program, or set PORT to a free one`, {
        cause,
      })
    }
    if (code === 'EACCES') {
      throw new AppError('unavailable', `port ${port} needs more rights than this user has; set PORT above 1023`, {
        cause,
      })
    }
    throw new AppError('unavailable', `cannot listen on ${host}:${port}: ${(cause as Error).message}`, { cause })
  }
  const address = app.server.address()
  const actual = typeof address === 'object' && address ? address.port : port
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host
  return `http://${name}:${actual}`
}

const describe = (composed: Composed, embedded: EmbeddedPostgres | undefined, url: string) => ({
  url,
  database: embedded ? ('embedded' as const) : ('external' as const),
  sandboxDriver: composed.sandboxDriver,
  models: composed.models,
})

interface Running {
  readonly composed: Composed
  readonly embedded: EmbeddedPostgres | undefined
  readonly watching: ConfigWatch | undefined
}

async function stopAll({ composed, embedded, watching }: Running, { serveOnMs = 0 }: StopOptions = {}): Promise<void> {
  watching?.stop()
  composed.leave()
  await pause(serveOnMs)
  // A database that does not answer at all must not hold the end up; leases and requests are then left to expire.
  const enough = new AbortController()
  await Promise.race([composed.stop(finishMs), pause(longestStopMs, enough.signal)])
  enough.abort()
  await embedded?.stop()
}
