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
  /** Notification channel for changes of freezes. */
  readonly channel: string
  readonly log: Pick<Log, 'debug'>
}

const sweepMs = 5_000
const maxAtOnce = 200

/**
 * Resumes sessions whose freeze was lifted: at once on a notification, else within 5 s. Each resumes once over all
 * replicas.
 */
export function createFrozenSessions({ pool, waits, sessions, wakeUps, notifications, channel, log }: Deps) {
  let isOn = false
  let checking: Promise<void> | undefined
  let isChanged = false
  let stopSweeping: (() => Promise<void>) | undefined

  /** Locks the session first, for the reason given in `paused-sessions.ts`. */
  const resume = (sessionId: string): Promise<void> =>
    transaction(pool, async client => {
      await sessions.lock(client, sessionId)
      if (!(await waits.end(client, sessionId))) return
      await sessions.setDue(client, sessionId)
      wakeUps.send(client, sessionId)
    })

  async function resumeUnfrozen(): Promise<void> {
    for (let more = true; more && isOn; ) {
      const unfrozen = await waits.unfrozen(maxAtOnce)
      for (const sessionId of unfrozen) await resume(sessionId)
      more = unfrozen.length === maxAtOnce
    }
  }

  /** Runs one check at a time; a change during a check triggers another one. */
  function check(): Promise<void> {
    checking ??= resumeUnfrozen()
      .catch((cause: unknown) => log.debug({ err: cause }, 'cannot find lifted freezes; retrying in the next sweep'))
      .finally(() => {
        checking = undefined
        if (isOn && isChanged) {
          isChanged = false
          void check()
        }
      })
    return checking
  }

  function changed(): void {
    if (!isOn) return
    if (checking) isChanged = true
    else void check()
  }
  notifications.on(channel, changed)
  notifications.onReconnect(changed)

  return {
    start() {
      isOn = true
      void check()
      stopSweeping = every(sweepMs, check)
    },
    async stop() {
      isOn = false
      await stopSweeping?.()
      await checking
    },
  }
}
