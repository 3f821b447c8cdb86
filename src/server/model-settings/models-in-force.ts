import type { Deployment } from '../config/deployments.ts'
import type { Notifications } from '../db/notifications.ts'
import type { Log } from '../platform/log.ts'
import { every } from '../platform/timers.ts'
import { type BaseConfig, type InForce, type Stored, settingsInForce } from './in-force.ts'

interface Options {
  readonly config: BaseConfig
  /** Reads all stored settings. */
  readonly read: () => Promise<Stored>
  /** Returns a version that changes with the stored settings. */
  readonly version: () => Promise<string>
  readonly notifications: Pick<Notifications, 'on' | 'onReconnect'>
  /** Notification channel of changes. */
  readonly channel: string
  /** Applies a changed list of deployments. */
  readonly apply: (deployments: readonly Deployment[]) => void
  readonly log: Pick<Log, 'info' | 'warn'>
  /** Poll interval, for lost notifications; 3,000 by default. */
  readonly pollMs?: number
}

/** Models of the configuration and the database that are active in this process. */
export interface ModelsInForce {
  /** Active settings, and the configuration that they are based on. */
  readonly now: InForce & { readonly config: BaseConfig }
  /** Resolves once every change that was committed before the call is active in this process. */
  refresh(): Promise<void>
  /** Replaces the configuration; returns the active deployments. */
  take(config: BaseConfig): readonly Deployment[]
  /** Reads the stored settings and follows changes. Until the first read succeeds only the configuration is active. */
  start(): Promise<void>
  stop(): Promise<void>
}

/**
 * Follows the database by notifications and a poll. While the database is unreachable the last settings stay active.
 */
export function createModelsInForce(options: Options): ModelsInForce {
  const { read, version, notifications, channel, apply, log, pollMs = 3_000 } = options
  let { config } = options
  let stored: Stored = { credentials: [], models: [] }
  let loadedVersion: string | undefined
  let inForce = settingsInForce(config, stored)
  let logged = new Set<string>()
  let isUnreachable = false
  let stopPolling: (() => Promise<void>) | undefined

  const combine = (): void => {
    inForce = settingsInForce(config, stored)
    const faults = faultsIn(inForce)
    for (const { key, ...fault } of faults)
      if (!logged.has(key)) log.warn(fault, 'disabled an invalid stored model setting')
    logged = new Set(faults.map(({ key }) => key))
  }

  const poll = async (): Promise<void> => {
    // The version is read first: a change between the two reads causes another read.
    const found = await version()
    if (found === loadedVersion) return
    stored = await read()
    combine()
    apply(inForce.deployments)
    if (loadedVersion !== undefined)
      log.info({ deployments: inForce.deployments.length }, 'reloaded changed stored models')
    loadedVersion = found
  }
  const refresh = oneAtATime(poll)

  const follow = async (): Promise<void> => {
    try {
      await refresh()
      isUnreachable = false
    } catch (cause) {
      if (!isUnreachable) log.warn({ err: cause }, 'cannot read stored models; keeping the previous ones')
      isUnreachable = true
    }
  }

  notifications.on(channel, () => void follow())
  notifications.onReconnect(() => void follow())
  return {
    get now() {
      return { ...inForce, config }
    },
    refresh,
    take(next) {
      config = next
      combine()
      return inForce.deployments
    },
    async start() {
      await follow()
      stopPolling = every(pollMs, follow)
    },
    stop: async () => stopPolling?.(),
  }
}

/** Runs `work` without overlap; each call waits for a run that started after it. */
function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined
  const run = (): Promise<void> => {
    if (!running) {
      running = work().finally(() => {
        running = undefined
      })
      return running
    }
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = undefined
        return run()
      })
    return next
  }
  return run
}

function faultsIn({ credentials, models }: InForce) {
  const ofCredentials = [...credentials].map(([provider, { error }]) => ({ provider, error }))
  const ofModels = models.map(({ stored, error }) => ({ model: stored.modelName, id: stored.id, error }))
  return [...ofCredentials, ...ofModels].flatMap(({ error, ...what }) =>
    error === undefined ? [] : [{ ...what, reason: error, key: `${JSON.stringify(what)} ${error}` }],
  )
}
