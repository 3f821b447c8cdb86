import type { Deployment } from '../config/config.ts'
import type { Notifications } from '../db/notifications.ts'
import type { Log } from '../platform/log.ts'
import { every } from '../platform/timers.ts'
import { type Beside, type InForce, type Stored, settingsInForce } from './in-force.ts'

interface Options {
  readonly config: Beside
  /** Everything that is stored. */
  readonly read: () => Promise<Stored>
  /** A text that changes whenever that does. */
  readonly version: () => Promise<string>
  readonly notifications: Pick<Notifications, 'on' | 'onReconnect'>
  /** The channel on which changes are told. */
  readonly channel: string
  /** Takes over another list of deployments. */
  readonly apply: (deployments: readonly Deployment[]) => void
  readonly log: Pick<Log, 'info' | 'warn'>
  /** How often to look for changes whose hint was lost; 3,000 by default. */
  readonly pollMs?: number
}

/** The models of the configuration and of the database together, as this process serves them. */
export interface ModelsInForce {
  /** What is in force, and what it was made from. */
  readonly now: InForce & { readonly config: Beside }
  /** Resolves once every change that was committed before the call is in force here. */
  refresh(): Promise<void>
  /** Takes over another configuration; the deployments that are in force with it. */
  take(config: Beside): readonly Deployment[]
  /** Reads what is stored, and follows it. Where that fails, the configuration alone is in force until it succeeds. */
  start(): Promise<void>
  stop(): Promise<void>
}

/** Follows the database by hints, and by a poll in case they are lost. What was read last stays while it is away. */
export function createModelsInForce(options: Options): ModelsInForce {
  const { read, version, notifications, channel, apply, log, pollMs = 3_000 } = options
  let { config } = options
  let stored: Stored = { credentials: [], models: [] }
  let knownVersion: string | undefined
  let inForce = settingsInForce(config, stored)
  let told = new Set<string>()
  let isAway = false
  let stopPolling: (() => Promise<void>) | undefined

  const combine = (): void => {
    inForce = settingsInForce(config, stored)
    const faults = faultsIn(inForce)
    for (const { key, ...fault } of faults) if (!told.has(key)) log.warn(fault, 'a stored model setting is not used')
    told = new Set(faults.map(({ key }) => key))
  }

  const look = async (): Promise<void> => {
    // First the version: what changes between the two reads is read once more.
    const found = await version()
    if (found === knownVersion) return
    stored = await read()
    combine()
    apply(inForce.deployments)
    if (knownVersion !== undefined) log.info({ deployments: inForce.deployments.length }, 'stored models were changed')
    knownVersion = found
  }
  const refresh = oneAtATime(look)

  const follow = async (): Promise<void> => {
    try {
      await refresh()
      isAway = false
    } catch (cause) {
      if (!isAway) log.warn({ err: cause }, 'stored models cannot be read now; those that are known stay')
      isAway = true
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

/** Runs `work` alone; each caller waits for a run that began after its call. */
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
