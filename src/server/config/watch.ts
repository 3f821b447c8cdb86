import { readFileSync, unwatchFile, watch, watchFile } from 'node:fs'
import { basename, dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Log } from '../platform/log.ts'
import type { Config } from './config.ts'

interface Options {
  /** The configuration file. */
  readonly path: string
  /** Configuration at start. */
  readonly config: Config
  /** Reloads everything. Throws an error whose message lists all problems, one per line, without secrets. */
  readonly read: () => Config
  readonly apply: (config: Config) => void
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  /** Delay after the last change, since editors write in several steps; 200 by default. */
  readonly settleMs?: number
  /** Poll interval, for file systems without change events; 2,000 by default. */
  readonly pollMs?: number
}

/** Watch of a configuration file. */
export interface ConfigWatch {
  /** Reloads the file even if it is unchanged, since files and variables that it refers to may have changed. */
  reload(): void
  stop(): void
}

/** Applies each change of the file. An invalid file is rejected as a whole; the previous configuration stays active. */
export function watchConfig({ path, config, read, apply, log, settleMs = 200, pollMs = 2_000 }: Options): ConfigWatch {
  let text = textOf(path)
  let current = config
  let timer: NodeJS.Timeout | undefined

  const reload = (): void => {
    text = textOf(path)
    try {
      const next = read()
      // An unfinished copy or an unmounted volume must not remove every model.
      if (next.isFileEmpty && !current.isFileEmpty) throw new Error(`${path} is empty`)
      apply(next)
      logChanges(next, { current, atStart: config, log })
      current = next
    } catch (error) {
      const problems = (error instanceof Error ? error.message : String(error)).split('\n')
      log.error({ problems }, 'invalid configuration; keeping the previous one')
    }
  }

  const reloadIfChanged = (): void => {
    if (textOf(path) !== text) reload()
  }
  const onTouched = (): void => {
    clearTimeout(timer)
    timer = setTimeout(reloadIfChanged, settleMs)
    timer.unref()
  }

  const stopWatching = watchFolder(path, onTouched)
  watchFile(path, { interval: pollMs, persistent: false }, onTouched)
  return {
    reload,
    stop() {
      clearTimeout(timer)
      stopWatching()
      unwatchFile(path, onTouched)
    },
  }
}

/** Watches the folder, because the watch of a file ends when the file is replaced. */
function watchFolder(path: string, onTouched: () => void): () => void {
  try {
    const watcher = watch(dirname(path), { persistent: false }, (_event, name) => {
      // Mounted volumes replace a link next to the file.
      if (name === null || name === basename(path) || name.startsWith('..')) onTouched()
    })
    watcher.on('error', () => watcher.close())
    return () => watcher.close()
  } catch {
    // The folder cannot be watched; the poll still works.
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

/** Settings that are read only at start, with their public names. */
const startupOnly: Readonly<Record<Exclude<keyof Config, Reloaded>, string>> = {
  host: 'HOST',
  port: 'PORT',
  publicUrl: 'general_settings.public_url',
  oidc: 'sign_in.oidc',
  console: 'general_settings.console',
  approvalLinks: 'general_settings.approval_links',
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
  metrics: 'metrics',
  telemetry: 'telemetry',
  drainDelayMs: 'SWITCHYARD_DRAIN_DELAY_MS',
  retention: 'retention',
  logSinks: 'log_sinks',
  workspaces: 'workspaces',
  sandbox: 'sandbox',
  toolLimits: 'limits.tool_result_chars or limits.tool_preview_chars',
}

const startupOnlyLimits = {
  maxSessions: 'limits.max_sessions',
  sessionEvents: 'limits.session_events',
  sessionBytes: 'limits.session_bytes',
  reservationMs: 'limits.reservation_s',
  sandboxCpus: 'limits.sandbox_cpus',
  allowUnrestrictedEgress: 'limits.allow_unrestricted_egress',
} as const

type Reloaded =
  | 'sources'
  | 'deployments'
  | 'modelsFrom'
  | 'environmentKeys'
  | 'demo'
  | 'router'
  | 'responseStore'
  | 'hooks'
  | 'prices'
  | 'limits'
  | 'webSearch'
  | 'gitHosts'
  | 'configuredAt'
  | 'runtimeHarnesses'
  | 'mcpServers'
  | 'outboundAllow'
  | 'file'
  | 'isFileEmpty'
  | 'warnings'

interface ChangeContext {
  readonly current: Config
  readonly atStart: Config
  readonly log: Pick<Log, 'info' | 'warn'>
}

function logChanges(next: Config, { current, atStart, log }: ChangeContext): void {
  log.info({ deployments: next.deployments.length }, 'reloaded the configuration')
  for (const warning of next.warnings) if (!current.warnings.includes(warning)) log.warn(warning)
  const needRestart = restartNames(next, atStart)
  if (needRestart.length > 0) log.warn({ settings: needRestart }, 'changed settings need a restart')
}

const startupOnlyKeys = Object.keys(startupOnly) as (keyof typeof startupOnly)[]
const startupOnlyLimitKeys = Object.keys(startupOnlyLimits) as (keyof typeof startupOnlyLimits)[]

/** Returns the configuration that was read last, with the settings of the start where a change needs a restart. */
export function inForce(atStart: Config, last: Config): Config {
  const limits = Object.fromEntries(startupOnlyLimitKeys.map(key => [key, atStart.limits[key]]))
  const others = Object.fromEntries(startupOnlyKeys.map(key => [key, atStart[key]]))
  return { ...last, ...others, limits: { ...last.limits, ...limits } }
}

/** Returns only names, because some values are secrets. */
function restartNames(next: Config, atStart: Config): string[] {
  const names = startupOnlyKeys.filter(key => !isDeepStrictEqual(next[key], atStart[key])).map(key => startupOnly[key])
  const limits = startupOnlyLimitKeys
    .filter(key => next.limits[key] !== atStart.limits[key])
    .map(key => startupOnlyLimits[key])
  return [...names, ...limits]
}
