import type { Pool } from 'pg'
import { transaction } from '../../db/connect.ts'
import type { Notifications } from '../../db/notifications.ts'
import type { Log } from '../../platform/log.ts'
import { every } from '../../platform/timers.ts'
import type { WakeUps } from '../queue/wake-ups.ts'
import type { SessionStore } from '../session-store.ts'
import type { BudgetId, PauseStore, ReadySession } from './pause-store.ts'

interface Deps {
  readonly pool: Pool
  readonly pauses: Pick<PauseStore, 'ready' | 'resume'>
  readonly sessions: Pick<SessionStore, 'lock' | 'setDue'>
  readonly wakeUps: Pick<WakeUps, 'send'>
  readonly notifications: Pick<Notifications, 'on' | 'onReconnect'>
  /** Notification channel for budget changes, with payload `scope:id`. */
  readonly channel: string
  readonly log: Log
}

const sweepMs = 5_000
/** Delay between checks when there are more budgets with waits than one query covers. */
const nextPartMs = 500
const maxResumed = 100

/** Resumes sessions whose budgets have room again. */
export interface PausedSessions {
  /** Checks now, then every 5 s, and at once when a budget changes. */
  start(): void
  stop(): Promise<void>
}

/** Watches the budgets that paused sessions wait for. Each session resumes once over all replicas. */
export function createPausedSessions(deps: Deps): PausedSessions {
  const { notifications, channel, log } = deps
  /** Budgets changed since the last check, as `scope:id`. */
  let changed: string[] = []
  /** Where the next check starts. */
  let after: BudgetId | undefined
  let checking: Promise<void> | undefined
  let isOn = false
  let nextPart: NodeJS.Timeout | undefined
  let stopSweeping: (() => Promise<void>) | undefined

  /** Runs one check at a time; a change during a check triggers another one. */
  function check(): Promise<void> {
    checking ??= resumeReady(deps, { changed: take(), after })
      .then(reached => {
        after = reached
        if (isOn && after) nextPart ??= setTimeout(checkNextPart, nextPartMs).unref()
      })
      .catch((cause: unknown) => log.debug({ err: cause }, 'cannot find budgets with room; retrying in the next sweep'))
      .finally(() => {
        checking = undefined
        if (isOn && changed.length > 0) void check()
      })
    return checking
  }

  function checkNextPart(): void {
    nextPart = undefined
    void check()
  }

  function take(): readonly string[] {
    const taken = changed
    changed = []
    return taken
  }

  notifications.on(channel, budget => {
    if (!isOn) return
    changed.push(budget)
    void check()
  })
  notifications.onReconnect(() => void (isOn && check()))

  return {
    start() {
      isOn = true
      void check()
      stopSweeping = every(sweepMs, check)
    },
    async stop() {
      isOn = false
      clearTimeout(nextPart)
      await stopSweeping?.()
      await checking
    },
  }
}

/** Resumes ready sessions. Returns where the check ended if there were more budgets than one query covers. */
async function resumeReady(
  deps: Deps,
  from: { readonly changed: readonly string[]; readonly after: BudgetId | undefined },
): Promise<BudgetId | undefined> {
  const { sessions, after } = await deps.pauses.ready({ ...from, limit: maxResumed })
  for (const ready of sessions) await resume(deps, ready)
  return after
}

/** Locks the session first: a concurrent release of its lease has then either committed, or sees the prompt. */
async function resume({ pool, pauses, sessions, wakeUps }: Deps, ready: ReadySession): Promise<void> {
  await transaction(pool, async client => {
    await sessions.lock(client, ready.session_id)
    if (!(await pauses.resume(client, ready))) return
    await sessions.setDue(client, ready.session_id)
    wakeUps.send(client, ready.session_id)
  })
}
