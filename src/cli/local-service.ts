import { fileURLToPath } from 'node:url'
import type { BackupSource } from '../server/backup/read-file.ts'
import type { BackupOptions, BackupReport } from '../server/backups.ts'
import type { Config, Environment, Overrides } from '../server/config/config.ts'
import type { Finding } from '../server/doctor.ts'
import type { IntegrityResult } from '../server/integrity/check.ts'
import type { ConvertedConfig } from '../server/litellm/convert-config.ts'
import type { KeysReport } from '../server/litellm/import-keys.ts'
import type { RestoreOptions, RestoreReport } from '../server/restore.ts'
import type { SecretsReport } from '../server/rotation.ts'
import type { Running } from '../server/running.ts'
import type { RunningServer } from '../server/running-server.ts'
import type { Upgrade } from '../server/upgrade.ts'
import type { ToWorker } from '../server/workers/messages.ts'
import { CommandFailed } from './failures.ts'

/** Environment and overrides from which a local server is configured. */
export interface ServerInputs {
  readonly env: Environment
  readonly overrides: Overrides
}

interface StartOptions {
  /** Replaces the configured level. */
  readonly logLevel?: string
  /** Inputs of the configuration. When given, the service reloads its file on changes. */
  readonly inputs?: ServerInputs
  /** Ends the wait for an unreachable database. */
  readonly stop?: AbortSignal
  /** True: the log goes to a terminal, as text. JSON otherwise. */
  readonly isTerminal?: boolean
}

/** Start message of a `WORKERS` process. */
export type WorkerStart = Extract<ToWorker, { type: 'start' }>

/** Functions for commands that work without a running service; the CLI's only access to the server's code. */
export interface LocalService {
  /** Throws CommandFailed for an invalid configuration. */
  configure(inputs: ServerInputs): Promise<Config>
  /** Throws CommandFailed with cause and next step. With `inputs` it starts `config.workers` processes. */
  start(config: Config, options?: StartOptions): Promise<RunningServer>
  /** Returns the services of this machine that use the data folder of these inputs and accept connections. */
  findRunning(inputs: ServerInputs): Promise<Running[]>
  /** `storedProviders` are those of the running service. */
  examine(inputs: ServerInputs & { readonly storedProviders: readonly string[] }): Promise<Finding[]>
  examinePort(inputs: ServerInputs): Promise<Finding | undefined>
  upgrade(config: Config, mode: 'plan' | 'apply'): Promise<Upgrade>
  readonly secrets: LocalSecrets
  readonly liteLlm: LocalLiteLlm
  readonly backups: LocalBackups
}

/** Import from LiteLLM; the service may run meanwhile. */
interface LocalLiteLlm {
  convert(source: string): Promise<ConvertedConfig>
  importKeys(config: Config, source: { readonly sourceUrl: string; readonly isDryRun: boolean }): Promise<KeysReport>
}

/** Tasks on backups, and the check of all stored data. */
interface LocalBackups {
  /** The service may run meanwhile. */
  make(config: Config, options: BackupOptions): Promise<BackupReport>
  /** Reads a backup without a database. */
  check(source: BackupSource): Promise<BackupReport>
  restore(config: Config, options: RestoreOptions): Promise<RestoreReport>
  /** Checks the stored data of the database; the service may run meanwhile. */
  checkDatabase(config: Config): Promise<IntegrityResult[]>
}

/** Tasks on encryption keys; the service may run meanwhile. */
interface LocalSecrets {
  status(config: Config): Promise<SecretsReport>
  reseal(config: Config): Promise<SecretsReport & { readonly resealed: number }>
  /** Deletes the values of the key. */
  forget(config: Config, keyId: string): Promise<SecretsReport & { readonly forgotten: number }>
}

/** The local server. Its code is loaded on first use, so that commands that only call a service start faster. */
export const localService: LocalService = {
  async configure(inputs) {
    const { withSmallYoungGeneration } = await import('../server/platform/young-generation.ts')
    const { ConfigError, loadConfig } = await withSmallYoungGeneration(() => import('../server/config/load.ts'))
    try {
      return loadConfig(inputs)
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      throw new CommandFailed(`invalid configuration:\n${indented(error.message)}`)
    }
  },
  async start(config, { logLevel = config.logLevel, inputs, stop, isTerminal = false } = {}) {
    const { withSmallYoungGeneration } = await import('../server/platform/young-generation.ts')
    const start = async () => {
      if (inputs && config.workers > 1) return startWorkers(config, { inputs, stop, isTerminal })
      const { loadConfig } = await import('../server/config/load.ts')
      const reread = inputs && (() => loadConfig(inputs))
      return startOne(config, { logLevel, reread, stop, log: { isTerminal } })
    }
    return explained(() => withSmallYoungGeneration(start), 'service did not start')
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
    return explained(() => upgradeDatabase({ config, log: createLog('error'), mode }), 'could not migrate the database')
  },
  secrets: {
    status: config => onSecrets(config, (rotation, inputs) => rotation.examineSecrets(inputs)),
    reseal: config => onSecrets(config, (rotation, inputs) => rotation.reencryptSecrets(inputs)),
    forget: (config, keyId) => onSecrets(config, (rotation, inputs) => rotation.forgetKey(inputs, keyId)),
  },
  liteLlm: {
    async convert(source) {
      const { convertLiteLlmConfig } = await import('../server/import-litellm.ts')
      return explained(async () => convertLiteLlmConfig(source), 'could not convert the configuration')
    },
    async importKeys(config, source) {
      const { importLiteLlmKeys } = await import('../server/import-litellm.ts')
      const { createLog } = await import('../server/platform/log.ts')
      return explained(() => importLiteLlmKeys({ ...source, config, log: createLog('error') }), 'could not import keys')
    },
  },
  backups: {
    async make(config, options) {
      const { makeBackup } = await import('../server/backups.ts')
      const { createLog } = await import('../server/platform/log.ts')
      return explained(() => makeBackup({ config, log: createLog('error') }, options), 'could not back up')
    },
    async check(source) {
      const { checkBackup } = await import('../server/backups.ts')
      return explained(() => checkBackup(source), `cannot use ${source.path}`)
    },
    async restore(config, options) {
      const { restoreBackup } = await import('../server/restore.ts')
      const { createLog } = await import('../server/platform/log.ts')
      return explained(() => restoreBackup({ config, log: createLog('error') }, options), 'could not restore')
    },
    async checkDatabase(config) {
      const { checkDatabase } = await import('../server/restore.ts')
      const { createLog } = await import('../server/platform/log.ts')
      return explained(() => checkDatabase({ config, log: createLog('error') }), 'could not check the database')
    },
  },
}

type Rotation = typeof import('../server/rotation.ts')

async function onSecrets<T>(
  config: Config,
  work: (rotation: Rotation, inputs: Parameters<Rotation['examineSecrets']>[0]) => Promise<T>,
): Promise<T> {
  const rotation = await import('../server/rotation.ts')
  const { createLog } = await import('../server/platform/log.ts')
  return explained(() => work(rotation, { config, log: createLog('error') }), 'could not access the encryption keys')
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
 * Starts the server as one `WORKERS` process, on the database and port of its parent. Rejects with AppError. Only
 * worker.ts may call it.
 */
export async function startWorker(env: Environment, sent: WorkerStart, stop: AbortSignal) {
  const { withSmallYoungGeneration } = await import('../server/platform/young-generation.ts')
  const { number, overrides, databaseUrl, port, isTerminal } = sent
  return withSmallYoungGeneration(async () => {
    const { loadConfig } = await import('../server/config/load.ts')
    const reread = () => ofWorker({ ...loadConfig({ env, overrides }), databaseUrl, port }, number)
    const config = reread()
    const log = { isTerminal, isShared: true, worker: number }
    return startOne(config, { logLevel: config.logLevel, reread, stop, log })
  })
}

/** Gives each process its own address for metrics: of a shared one, a scrape would reach any of them. */
function ofWorker(config: Config, number: number): Config {
  const { listen } = config.metrics
  if (!listen) return config
  return { ...config, metrics: { ...config.metrics, listen: { ...listen, port: listen.port + number - 1 } } }
}

interface OneProcess {
  readonly logLevel: string
  /** When given, the service reloads its configuration file on changes. */
  readonly reread: (() => Config) | undefined
  readonly stop: AbortSignal | undefined
  readonly log: { readonly isTerminal: boolean; readonly isShared?: boolean; readonly worker?: number }
}

async function startOne(config: Config, { logLevel, reread, stop, log: { worker, ...output } }: OneProcess) {
  const { startServer } = await import('../server/main.ts')
  const { createLog, logStream } = await import('../server/platform/log.ts')
  const { createRequestLog } = await import('../server/platform/request-log.ts')
  const { otlp: collector } = config.telemetry
  // Loaded only when a collector is configured.
  const otlp = collector && (await import('../server/telemetry/otlp/otlp.ts')).createOtlp(collector)
  const stream = otlp ? otlp.tee(logStream(output)) : logStream(output)
  const origin = worker === undefined ? {} : { worker }
  const log = createLog(logLevel, stream, origin)
  const requestLog = createRequestLog({ ...config.requestLog, logLevel, stream, origin })
  return startServer({ config, log, requestLog, otlp, reread, stop, isWorker: worker !== undefined })
}

const indented = (text: string): string => text.replaceAll(/^/gm, '  ')

/** Converts errors to CommandFailed. AppErrors of the server already state cause and next step. */
async function explained<T>(work: () => Promise<T>, what: string): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new CommandFailed(`${what}: ${error instanceof Error ? error.message : error}`)
  }
}
