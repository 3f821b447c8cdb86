import type { Composed } from './compose.ts'
import type { Config } from './config/config.ts'
import { type ConfigWatch, watchConfig } from './config/watch.ts'
import { type BackgroundBuild, buildInBackground } from './console/background-build.ts'
import { ownUrl } from './http/own-url.ts'
import { AppError } from './platform/errors.ts'
import type { Log } from './platform/log.ts'
import { type RequestLog, silentRequestLog } from './platform/request-log.ts'
import { pause } from './platform/timers.ts'
import { announce } from './running.ts'
import type { RunningServer, StopOptions } from './running-server.ts'
import { checkStart, listenProblem } from './start-checks.ts'
import { prepareDatabase, startDatabase } from './start-database.ts'
import type { Otlp } from './telemetry/otlp/otlp.ts'

interface Options {
  readonly config: Config
  readonly log: Log
  /** Requests are not logged when absent. */
  readonly requestLog?: RequestLog
  /** Export of traces and logs; absent without a collector. */
  readonly otlp?: Otlp | undefined
  /** Reads the configuration again. When given, the server reloads when its configuration file changes. */
  readonly reread?: (() => Config) | undefined
  /** Ends the wait for an unreachable database. */
  readonly stop?: AbortSignal | undefined
  /** True for a `WORKERS` process: its parent has checked the port and announces the address. */
  readonly isWorker?: boolean
}

const finishMs = 20_000
const maxStopMs = 27_000

/** Migrates the database and starts the service. Rejects with an AppError whose message names cause and next step. */
export async function startServer({
  config,
  log,
  requestLog = silentRequestLog,
  otlp,
  reread,
  stop,
  isWorker = false,
}: Options): Promise<RunningServer & { readonly id: string }> {
  if (!isWorker) await checkStart(config)
  const database = await startDatabase({ config, log })
  let composed: Composed | undefined
  try {
    const keyring = await prepareDatabase(database.url, { config, log, stop })
    // Imported this late so that a start that must fail, such as a second one on the data folder, fails fast.
    const { compose } = await import('./compose.ts')
    const server = await compose({ config, log, requestLog, databaseUrl: database.url, keyring, otlp })
    composed = server
    await server.start()
    const url = await listen(server, config)
    const withdraw = isWorker ? () => {} : announce(config.dataDir, { url, log })
    const watching =
      reread && config.file !== undefined
        ? watchConfig({ path: config.file, config, read: reread, apply: server.reload, log })
        : undefined
    const building = isWorker ? undefined : buildInBackground(config, log)
    return {
      id: server.id,
      url,
      database: database.kind,
      sandboxDriver: server.sandboxDriver,
      models: server.models,
      workers: 1,
      lost: database.lost,
      reload: () => watching?.reload(),
      stop: options =>
        stopAll({ composed: server, stopDatabase: database.stop, watching, withdraw, building }, options),
    }
  } catch (error) {
    await composed?.stop(0).catch(cause => log.debug({ err: cause }, 'could not stop a partly started server'))
    await database.stop()
    throw error
  }
}

/** Connections that may wait to be accepted: thousands of clients may reconnect at the same moment. */
const backlog = 4_096

async function listen({ app }: Composed, { host, port }: Config): Promise<string> {
  try {
    await app.listen({ host, port, backlog })
  } catch (cause) {
    throw new AppError('unavailable', listenProblem(cause as NodeJS.ErrnoException, { host, port }), { cause })
  }
  return ownUrl(app.server, { host, port })
}

interface Running {
  readonly composed: Composed
  readonly stopDatabase: () => Promise<void>
  readonly watching: ConfigWatch | undefined
  readonly withdraw: () => void
  readonly building: BackgroundBuild | undefined
}

async function stopAll(
  { composed, stopDatabase, watching, withdraw, building }: Running,
  { serveOnMs = 0, siblings = [] }: StopOptions = {},
): Promise<void> {
  watching?.stop()
  building?.stop()
  composed.leave()
  // Without another replica a load balancer has no other target, so waiting for it has no use.
  if (serveOnMs > 0 && (await composed.hasPeers(siblings))) await pause(serveOnMs)
  // A database that does not respond must not delay the exit; leases and requests then expire.
  const stopped = new AbortController()
  await Promise.race([composed.stop(finishMs), pause(maxStopMs, stopped.signal)])
  stopped.abort()
  await stopDatabase()
  withdraw()
}
