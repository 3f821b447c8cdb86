import type { Composed } from './compose.ts'
import type { Config } from './config/config.ts'
import { type ConfigWatch, watchConfig } from './config/watch.ts'
import { createPool, isConnectionLoss } from './db/connect.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from './db/embedded-postgres.ts'
import { migrate } from './db/migrate.ts'
import { unreachableReason, whenReachable } from './db/reachable.ts'
import { ownUrl } from './http/own-url.ts'
import { AppError } from './platform/errors.ts'
import type { Log } from './platform/log.ts'
import { type RequestLog, silentRequestLog } from './platform/request-log.ts'
import type { Keyring } from './platform/seal.ts'
import { pause } from './platform/timers.ts'
import { announce } from './running.ts'
import { openKeyring } from './secrets/keyring.ts'
import { checkStart, listenProblem } from './start-checks.ts'

interface Options {
  readonly config: Config
  readonly log: Log
  /** Writes no line for requests when absent. */
  readonly requestLog?: RequestLog
  /** Reads the configuration anew. With it the service follows its configuration file. */
  readonly reread?: (() => Config) | undefined
  /** Ends the wait for a database that cannot be reached. */
  readonly stop?: AbortSignal | undefined
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
export async function startServer({
  config,
  log,
  requestLog = silentRequestLog,
  reread,
  stop,
}: Options): Promise<RunningServer> {
  const lost = new AbortController()
  const onTaken = (error: Error) => lost.abort(error)
  await checkStart(config)
  const embedded =
    config.databaseUrl === undefined
      ? await startEmbeddedPostgres({ dataDir: config.dataDir, log, onTaken })
      : undefined
  const databaseUrl = config.databaseUrl ?? embedded?.url ?? ''
  let composed: Composed | undefined
  try {
    const keyring = await prepareDatabase(databaseUrl, { config, log, stop })
    // Loaded now and not before: a start that is refused, such as a second one on the data folder, ends in time.
    const { compose } = await import('./compose.ts')
    const server = await compose({ config, log, requestLog, databaseUrl, keyring })
    composed = server
    await server.start()
    const url = await listen(server, config)
    const withdraw = announced(config.dataDir, { url, log })
    const watching =
      reread && config.file !== undefined
        ? watchConfig({ path: config.file, config, read: reread, apply: server.reload, log })
        : undefined
    return {
      ...describe(server, embedded, url),
      lost: lost.signal,
      reload: () => watching?.reload(),
      stop: options => stopAll({ composed: server, embedded, watching, withdraw }, options),
    }
  } catch (error) {
    await composed?.stop(0).catch(cause => log.debug({ err: cause }, 'stopping a half-started server'))
    await embedded?.stop()
    throw error
  }
}

/** Brings the database up to date, and finds the keys that open what it holds. Waits for a database that cannot be reached. */
async function prepareDatabase(url: string, { config, log, stop }: Options): Promise<Keyring> {
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

/** Connections that wait to be accepted: thousands of clients may come back at the same moment. */
const backlog = 4_096

async function listen({ app }: Composed, { host, port }: Config): Promise<string> {
  try {
    await app.listen({ host, port, backlog })
  } catch (cause) {
    throw new AppError('unavailable', listenProblem(cause as NodeJS.ErrnoException, { host, port }), { cause })
  }
  return ownUrl(app.server, { host, port })
}

const describe = (composed: Composed, embedded: EmbeddedPostgres | undefined, url: string) => ({
  url,
  database: embedded ? ('embedded' as const) : ('external' as const),
  sandboxDriver: composed.sandboxDriver,
  models: composed.models,
})

/** A folder that cannot be written costs commands the address, and nothing else. */
function announced(dataDir: string, { url, log }: { url: string; log: Log }): () => void {
  try {
    return announce(dataDir, { url })
  } catch (error) {
    log.warn({ err: error }, 'cannot write the address into the data folder; commands need --url')
    return () => {}
  }
}

interface Running {
  readonly composed: Composed
  readonly embedded: EmbeddedPostgres | undefined
  readonly watching: ConfigWatch | undefined
  readonly withdraw: () => void
}

async function stopAll(
  { composed, embedded, watching, withdraw }: Running,
  { serveOnMs = 0 }: StopOptions = {},
): Promise<void> {
  watching?.stop()
  composed.leave()
  // Without another replica no load balancer has a choice: waiting for it would only make the stop longer.
  if (serveOnMs > 0 && (await composed.hasPeers())) await pause(serveOnMs)
  // A database that does not answer at all must not hold the end up; leases and requests are then left to expire.
  const enough = new AbortController()
  await Promise.race([composed.stop(finishMs), pause(longestStopMs, enough.signal)])
  enough.abort()
  await embedded?.stop()
  withdraw()
}
