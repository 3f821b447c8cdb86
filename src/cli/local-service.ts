import { fileURLToPath } from 'node:url'
import type { Config, Environment, Overrides } from '../server/config/config.ts'
import type { Finding } from '../server/doctor.ts'
import type { SecretsReport } from '../server/rotation.ts'
import type { Running } from '../server/running.ts'
import type { RunningServer } from '../server/running-server.ts'
import type { Upgrade } from '../server/upgrade.ts'
import type { ToWorker } from '../server/workers/messages.ts'
import { CommandFailed } from './failures.ts'

/** What decides how a server of this package is set up. */
export interface ServerInputs {
  readonly env: Environment
  readonly overrides: Overrides
}

interface StartOptions {
  /** Replaces that of the configuration. */
  readonly logLevel?: string
  /** What the configuration was made from: the service then follows its file. */
  readonly inputs?: ServerInputs
  /** Ends the wait for a database that cannot be reached. */
  readonly stop?: AbortSignal
  /** True: a person reads the log, so its lines are text. JSON otherwise. */
  readonly isTerminal?: boolean
}

/** What a process of `WORKERS` is started with. */
export type WorkerStart = Extract<ToWorker, { type: 'start' }>

/** What the commands that work without a running service need; the only door from here to the server's code. */
export interface LocalService {
  /** Throws CommandFailed for a configuration that cannot be used. */
  configure(inputs: ServerInputs): Promise<Config>
  /** Throws CommandFailed with cause and next step. With `inputs` it starts as many processes as `config.workers` says. */
  start(config: Config, options?: StartOptions): Promise<RunningServer>
  /** Services of this machine on the data folder of these inputs that accept connections. */
  findRunning(inputs: ServerInputs): Promise<Running[]>
  examine(inputs: ServerInputs): Promise<Finding[]>
  examinePort(inputs: ServerInputs): Promise<Finding | undefined>
  upgrade(config: Config, mode: 'plan' | 'apply'): Promise<Upgrade>
  readonly secrets: LocalSecrets
}

/** What can be done about encryption keys, beside a running service too. */
interface LocalSecrets {
  status(config: Config): Promise<SecretsReport>
  reseal(config: Config): Promise<SecretsReport & { readonly resealed: number }>
  /** Deletes what the key has sealed. */
  forget(config: Config, keyId: string): Promise<SecretsReport & { readonly forgotten: number }>
}

/** The server of this package. Its code is loaded at first use: commands that only talk to a service start faster. */
export const localService: LocalService = {
  async configure(inputs) {
    const { inLittleRoom } = await import('../server/platform/young-generation.ts')
    const { ConfigError, loadConfig } = await inLittleRoom(() => import('../server/config/load.ts'))
    try {
      return loadConfig(inputs)
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      throw new CommandFailed(`The configuration cannot be used:\n${indented(error.message)}`)
    }
  },
  async start(config, { logLevel = config.logLevel, inputs, stop, isTerminal = false } = {}) {
    const { inLittleRoom } = await import('../server/platform/young-generation.ts')
    const start = async () => {
      if (inputs && config.workers > 1) return startWorkers(config, { inputs, stop, isTerminal })
      const { loadConfig } = await import('../server/config/load.ts')
      const reread = inputs && (() => loadConfig(inputs))
      return startOne(config, { logLevel, reread, stop, log: { isTerminal } })
    }
    return explained(() => inLittleRoom(start), 'The service did not start')
  },
  async findRunning(inputs) {
    const { dataDirOf } = await import('../server/config/data-dir.ts')
    const { findRunning } = await import('../server/running.ts')
    return findRunning(dataDirOf(inputs))
  },
  async examine(inputs) {
    return (await import('../server/doctor.ts')).examine(inputs)
  },
  async examinePort(inputs) {
    return (await import('../server/doctor.ts')).examinePort(inputs)
  },
  async upgrade(config, mode) {
    const { upgradeDatabase } = await import('../server/upgrade.ts')
    const { createLog } = await import('../server/platform/log.ts')
    return explained(
      () => upgradeDatabase({ config, log: createLog('error'), mode }),
      'The database was not brought up to date',
    )
  },
  secrets: {
    status: config => onSecrets(config, (rotation, inputs) => rotation.examineSecrets(inputs)),
    reseal: config => onSecrets(config, (rotation, inputs) => rotation.resealSecrets(inputs)),
    forget: (config, keyId) => onSecrets(config, (rotation, inputs) => rotation.forgetKey(inputs, keyId)),
  },
}

type Rotation = typeof import('../server/rotation.ts')

async function onSecrets<T>(
  config: Config,
  work: (rotation: Rotation, inputs: Parameters<Rotation['examineSecrets']>[0]) => Promise<T>,
): Promise<T> {
  const rotation = await import('../server/rotation.ts')
  const { createLog } = await import('../server/platform/log.ts')
  return explained(() => work(rotation, { config, log: createLog('error') }), 'The secrets cannot be examined')
}

async function startWorkers(
  config: Config,
  { inputs, stop, isTerminal }: { inputs: ServerInputs; stop: AbortSignal | undefined; isTerminal: boolean },
): Promise<RunningServer> {
  const { startWorkers } = await import('../server/workers/supervisor.ts')
  const { createLog, logStream } = await import('../server/platform/log.ts')
  const log = createLog(config.logLevel, logStream({ isTerminal, isShared: true }))
  const program = fileURLToPath(new URL('worker.ts', import.meta.url))
  return startWorkers({ config, overrides: inputs.overrides, log, program, isTerminal, stop })
}

/**
 * The server as one process of `WORKERS`, on the database and the port of its parent. Rejects with AppError. For the program of
 * such a process alone.
 */
export async function startWorker(env: Environment, sent: WorkerStart, stop: AbortSignal) {
  const { inLittleRoom } = await import('../server/platform/young-generation.ts')
  const { number, overrides, databaseUrl, port, isTerminal } = sent
  return inLittleRoom(async () => {
    const { loadConfig } = await import('../server/config/load.ts')
    const reread = () => ({ ...loadConfig({ env, overrides }), databaseUrl, port })
    const config = reread()
    const log = { isTerminal, isShared: true, worker: number }
    return startOne(config, { logLevel: config.logLevel, reread, stop, log })
  })
}

interface One {
  readonly logLevel: string
  /** With it the service follows its configuration file. */
  readonly reread: (() => Config) | undefined
  readonly stop: AbortSignal | undefined
  readonly log: { readonly isTerminal: boolean; readonly isShared?: boolean; readonly worker?: number }
}

async function startOne(config: Config, { logLevel, reread, stop, log: { worker, ...output } }: One) {
  const { startServer } = await import('../server/main.ts')
  const { createLog, logStream } = await import('../server/platform/log.ts')
  const { createRequestLog } = await import('../server/platform/request-log.ts')
  const stream = logStream(output)
  const origin = worker === undefined ? {} : { worker }
  const log = createLog(logLevel, stream, origin)
  const requestLog = createRequestLog({ ...config.requestLog, logLevel, stream, origin })
  return startServer({ config, log, requestLog, reread, stop, isWorker: worker !== undefined })
}

const indented = (text: string): string => text.replaceAll(/^/gm, '  ')

/** The server's own refusals say cause and next step; whatever else is thrown has at least a message. */
async function explained<T>(work: () => Promise<T>, what: string): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new CommandFailed(`${what}: ${error instanceof Error ? error.message : error}`)
  }
}
