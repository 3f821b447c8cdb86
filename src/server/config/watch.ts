import { readFileSync, unwatchFile, watch, watchFile } from 'node:fs'
import { basename, dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Log } from '../platform/log.ts'
import type { Config } from './config.ts'

interface Options {
  /** The configuration file. */
  readonly path: string
  /** What the service began with. */
  readonly config: Config
  /** Reads everything anew. Throws an error whose message lists all problems, one a line, and holds no secret. */
  readonly read: () => Config
  readonly apply: (config: Config) => void
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  /** Quiet time after the last sign of a change: editors write in several steps. 200 by default. */
  readonly settleMs?: number
  /** How often the file is looked at where the system tells of no changes. 2,000 by default. */
  readonly pollMs?: number
}

/** Follows a configuration file. */
export interface ConfigWatch {
  /** Reads the file now, also when it has not changed: files and keys that it names may have. */
  reload(): void
  stop(): void
}

/** Applies each new content of the file; one with faults is refused as a whole, and what was in force stays. */
export function watchConfig({ path, config, read, apply, log, settleMs = 200, pollMs = 2_000 }: Options): ConfigWatch {
  let text = textOf(path)
  let inForce = config
  let timer: NodeJS.Timeout | undefined

  const reload = (): void => {
    text = textOf(path)
    try {
      const next = read()
      // Half of a copy, or a volume that is not mounted: it must not remove every model.
      if (next.isFileEmpty && !inForce.isFileEmpty) throw new Error(`${path} is empty`)
      apply(next)
      tellOf(next, { inForce, atStart: config, log })
      inForce = next
    } catch (error) {
      const problems = (error instanceof Error ? error.message : String(error)).split('\n')
      log.error({ problems }, 'invalid configuration; keeping the previous one')
    }
  }

  const settled = (): void => {
    if (textOf(path) !== text) reload()
  }
  const touched = (): void => {
    clearTimeout(timer)
    timer = setTimeout(settled, settleMs)
    timer.unref()
  }

  const stopWatching = watchFolder(path, touched)
  watchFile(path, { interval: pollMs, persistent: false }, touched)
  return {
    reload,
    stop() {
      clearTimeout(timer)
      stopWatching()
      unwatchFile(path, touched)
    },
  }
}

/** The folder is watched, not the file: a file that is replaced by another takes its watch along. */
function watchFolder(path: string, touched: () => void): () => void {
  try {
    const watcher = watch(dirname(path), { persistent: false }, (_event, name) => {
      // A mounted volume swaps a link beside the file.
      if (name === null || name === basename(path) || name.startsWith('..')) touched()
    })
    watcher.on('error', () => watcher.close())
    return () => watcher.close()
  } catch {
    // No watch can be had for this folder: the poll goes on.
    return () => {}
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

/** What only a start reads, by the name that an operator knows it by. */
const fixed: Readonly<Record<Exclude<keyof Config, Reloaded>, string>> = {
  host: 'HOST',
  port: 'PORT',
  publicUrl: 'general_settings.public_url',
  trustProxy: 'general_settings.trust_proxy',
  masterKey: 'general_settings.master_key',
  insecureNoAuth: '--insecure-no-auth',
  databaseUrl: 'DATABASE_URL',
  databaseWaitMs: '--no-wait',
  dataDir: 'SWITCHYARD_DATA_DIR',
  encryptionKeys: 'SWITCHYARD_ENCRYPTION_KEY',
  role: 'SWITCHYARD_ROLE',
  workers: 'WORKERS',
  logLevel: 'LOG_LEVEL',
  requestLog: 'logging',
  drainDelayMs: 'SWITCHYARD_DRAIN_DELAY_MS',
  retention: 'retention',
  workspaces: 'workspaces',
}

const fixedLimits = {
  maxSessions: 'limits.max_sessions',
  sessionEvents: 'limits.session_events',
  sessionBytes: 'limits.session_bytes',
  reservationMs: 'limits.reservation_s',
  sandboxCpus: 'limits.sandbox_cpus',
} as const

type Reloaded =
  | 'deployments'
  | 'modelsFrom'
  | 'environmentKeys'
  | 'demo'
  | 'router'
  | 'responseStore'
  | 'hooks'
  | 'prices'
  | 'limits'
  | 'configuredAt'
  | 'runtimeHarnesses'
  | 'outboundAllow'
  | 'file'
  | 'isFileEmpty'
  | 'warnings'

interface Told {
  readonly inForce: Config
  readonly atStart: Config
  readonly log: Pick<Log, 'info' | 'warn'>
}

function tellOf(next: Config, { inForce, atStart, log }: Told): void {
  log.info({ deployments: next.deployments.length }, 'the configuration was read again')
  for (const warning of next.warnings) if (!inForce.warnings.includes(warning)) log.warn(warning)
  const waiting = restartNames(next, atStart)
  if (waiting.length > 0) log.warn({ settings: waiting }, 'these settings were changed and need a restart')
}

/** The names only: some of the values are secrets. */
function restartNames(next: Config, atStart: Config): string[] {
  const keys = Object.keys(fixed) as (keyof typeof fixed)[]
  const names = keys.filter(key => !isDeepStrictEqual(next[key], atStart[key])).map(key => fixed[key])
  const limits = (Object.keys(fixedLimits) as (keyof typeof fixedLimits)[])
    .filter(key => next.limits[key] !== atStart.limits[key])
    .map(key => fixedLimits[key])
  return [...names, ...limits]
}
