import cluster from 'node:cluster'
import type { Config, Overrides } from '../config/config.ts'
import { buildInBackground } from '../console/background-build.ts'
import { AppError } from '../platform/errors.ts'
import { freePort } from '../platform/free-port.ts'
import type { Log } from '../platform/log.ts'
import { announce } from '../running.ts'
import type { RunningServer } from '../running-server.ts'
import { checkStart } from '../start-checks.ts'
import { prepareDatabase, startDatabase } from '../start-database.ts'
import { createWorkerSlot, type WorkerSlot } from './worker-slot.ts'

interface Options {
  /** Starts `workers` processes. */
  readonly config: Config
  /** Overrides that each process combines with the environment. */
  readonly overrides: Overrides
  readonly log: Log
  /** Script file that a worker runs. */
  readonly program: string
  readonly isTerminal: boolean
  /** Ends the wait for a database that cannot be reached. */
  readonly stop?: AbortSignal | undefined
}

/** Time after `serveOnMs` before a process that does not stop is killed. */
const killAfterMs = 32_000

/**
 * Starts the service as several processes that share one port and one database. This process owns the port, distributes
 * connections round-robin, runs the embedded database and replaces processes that exit; it serves no requests itself.
 * Decision 0018. Rejects with an AppError whose message names cause and next step.
 */
export async function startWorkers({
  config,
  overrides,
  log,
  program,
  isTerminal,
  stop,
}: Options): Promise<RunningServer> {
  await checkStart(config)
  // With port 0 each process could get another port.
  const port = config.port || (await freePort(config.host))
  const database = await startDatabase({ config, log })
  const slots: WorkerSlot[] = []
  const stopSlots = (serveOnMs: number) => {
    const siblings = slots.flatMap(({ id }) => id ?? [])
    return Promise.all(slots.map(slot => slot.stop({ type: 'stop', serveOnMs, siblings }, serveOnMs + killAfterMs)))
  }
  try {
    await prepareDatabase(database.url, { config, log, stop })
    cluster.schedulingPolicy = cluster.SCHED_RR
    cluster.setupPrimary({ exec: program, args: [] })
    const shared = { type: 'start', overrides, databaseUrl: database.url, port, isTerminal } as const
    for (let number = 1; number <= config.workers; number++) {
      slots.push(createWorkerSlot({ number, start: { ...shared, number }, log }))
    }
    const [first] = await Promise.all(slots.map(slot => slot.start()))
    if (!first) throw new Error('no worker configured')
    const { url, sandboxDriver, models } = first
    const withdraw = announce(config.dataDir, { url, log })
    const building = buildInBackground(config, log)
    return {
      url,
      database: database.kind,
      sandboxDriver,
      models,
      workers: config.workers,
      lost: database.lost,
      reload() {
        for (const slot of slots) slot.send({ type: 'reload' })
      },
      async stop({ serveOnMs = 0 } = {}) {
        building.stop()
        await stopSlots(serveOnMs)
        await database.stop()
        withdraw()
      },
    }
  } catch (error) {
    await stopSlots(0)
    await database.stop()
    if (error instanceof AppError) throw error
    throw new AppError('unavailable', error instanceof Error ? error.message : String(error), { cause: error })
  }
}
