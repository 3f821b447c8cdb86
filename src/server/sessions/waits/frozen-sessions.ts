import type { Pool } from 'pg'
import { transaction } from '../../db/connect.ts'
import type { Notifications } from '../../db/notifications.ts'
import type { Log } from '../../platform/log.ts'
import { every } from '../../platform/timers.ts'
import type { WakeUps } from '../queue/wake-ups.ts'
import type { SessionStore } from '../session-store.ts'
import type { FreezeWaitStore } from './freeze-wait-store.ts'

interface Deps {
  readonly pool: Pool
  readonly waits: FreezeWaitStore
  readonly sessions: Pick<SessionStore, 'lock' | 'setDue'>
  readonly wakeUps: Pick<WakeUps, 'send'>
  readonly notifications: Pick<Notifications, 'on' | 'onReconnect'>
  /** Where changes of freezes are told. */
  readonly channel: string
  readonly log: Pick<Log, 'debug'>
}

const sweepMs = 5_000
const maxAtOnce = 200

/** Lets sessions go on whose freeze was lifted: at once when that is heard, else within 5 s. Each goes on once over all replicas. */
export function createFrozenSessions({ pool, waits, sessions, wakeUps, notifications, channel, log }: Deps) {
  let isOn = false
  let looking: Promise<void> | undefined
  let isChanged = false
  let stopSweeping: (() => Promise<void>) | undefined

  /** The lock comes first: see `paused-sessions.ts`. */
  const resume = (sessionId: string): Promise<void> =>
    transaction(pool, async client => {
      await sessions.lock(client, sessionId)
      if (!(await waits.end(client, sessionId))) return
      await sessions.setDue(client, sessionId)
      wakeUps.send(client, sessionId)
    })

  async function resumeThawed(): Promise<void> {
    for (let more = true; more && isOn; ) {
      const thawed = await waits.thawed(maxAtOnce)
      for (const sessionId of thawed) await resume(sessionId)
      more = thawed.length === maxAtOnce
    }
  }

  /** One look at a time; a change meanwhile is looked at right after it. */
  function look(): Promise<void> {
    looking ??= resumeThawed()
      .catch((cause: unknown) => log.debug({ err: cause }, 'could not look for lifted freezes; the next look will'))
      .finally(() => {
        looking = undefined
        if (isOn && isChanged) {
          isChanged = false
          void look()
        }
      })
    return looking
  }

  function changed(): void {
    if (!isOn) return
    if (looking) isChanged = true
    else void look()
  }
  notifications.on(channel, changed)
  notifications.onReconnect(changed)

  return {
    start() {
      isOn = true
      void look()
      stopSweeping = every(sweepMs, look)
    },
    async stop() {
      isOn = false
      await stopSweeping?.()
      await looking
    },
  }
}
