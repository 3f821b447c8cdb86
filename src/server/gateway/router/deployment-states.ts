import type { DeploymentState } from '../../../contract/models.ts'
import type { CooldownSettings, Deployment } from '../../config/config.ts'
import type { Log } from '../../platform/log.ts'
import { every } from '../../platform/timers.ts'
import type { DeployedModel } from '../call.ts'
import { createMakeTry, type MakeTry } from './attempts.ts'
import { type Cooldowns, createCooldowns } from './cooldowns.ts'
import { createHints, type HintChannel } from './hints.ts'
import { createLoad, type Load } from './load.ts'

interface Options {
  readonly cooldown: () => CooldownSettings
  readonly find: (id: string) => Deployment | undefined
  readonly channel: HintChannel | undefined
  /** Monotonic. */
  readonly nowMs: () => number
  readonly log: Pick<Log, 'warn'>
}

/** What is known of every deployment, and the tries that add to it. */
export interface DeploymentStates {
  readonly cooldowns: Cooldowns
  readonly load: Load
  readonly makeTry: MakeTry
  /** One group as clients may see it: no host, no key. */
  describe(group: readonly DeployedModel[]): DeploymentState[]
  stop(): void
}

const shareMs = 1_000
const untold = { cooled: () => {}, loaded: () => {} }

/** Keeps the state of this process and exchanges hints about it with the others. */
export function createDeploymentStates({ cooldown, find, channel, nowMs, log }: Options): DeploymentStates {
  const cooldowns = createCooldowns({ settings: cooldown, nowMs })
  const load = createLoad(nowMs)
  const withKnown = (id: string, use: (deployment: Deployment) => void): void => {
    const deployment = find(id)
    if (deployment) use(deployment)
  }
  const hints = channel
    ? createHints(channel, {
        onCooldown: (id, restMs, errorClass) => withKnown(id, known => cooldowns.follow(known, restMs, errorClass)),
        onLoad: (id, calls, tokens) => withKnown(id, known => load.add(known, calls, tokens)),
      })
    : untold
  const stopSharing = channel && every(shareMs, async () => hints.loaded(load.takeNews()))

  return {
    cooldowns,
    load,
    makeTry: createMakeTry({ cooldowns, load, hints, log }),
    describe: group =>
      group.map(({ deployment }) => {
        const isAlone = group.length === 1
        const { state, restMs, lastError } = cooldowns.health(deployment)
        return {
          id: deployment.id,
          state: isAlone ? 'healthy' : state,
          cooling_until: !isAlone && state === 'cooling' ? new Date(Date.now() + restMs).toISOString() : null,
          last_error: lastError ?? null,
          calls: load.callsAt(deployment),
        }
      }),
    stop: () => void stopSharing?.(),
  }
}
