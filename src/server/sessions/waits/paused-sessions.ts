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
  /** Where changes of budgets are told, as `scope:id`. */
  readonly channel: string
  readonly log: Log
}

const sweepMs = 5_000
/** Between two looks that share the budgets that somebody waits for. */
const nextPartMs = 500
const maxResumed = 100

/** Lets sessions go on whose budgets have room again. */
export interface PausedSessions {
  /** Looks now, then every 5 s, and at once when a budget was changed. */
  start(): void
  stop(): Promise<void>
}

/** Watches the budgets that paused sessions wait for. Each resumption happens once over all replicas. */
export function createPausedSessions(deps: Deps): PausedSessions {
  const { notifications, channel, log } = deps
  /** Budgets as `scope:id` that were changed since the last look. */
  let changed: string[] = []
  /** Where the next look begins. */
  let after: BudgetId | undefined
  let looking: Promise<void> | undefined
  let isOn = false
  let nextPart: NodeJS.Timeout | undefined
  let stopSweeping: (() => Promise<void>) | undefined

  /** One look at a time; what changes meanwhile is looked at right after it. */
  function look(): Promise<void> {
    looking ??= resumeReady(deps, { changed: take(), after })
      .then(reached => {
        after = reached
        if (isOn && after) nextPart ??= setTimeout(lookOn, nextPartMs).unref()
      })
      .catch((cause: unknown) => log.debug({ err: cause }, 'could not look for budgets with room; the next look will'))
      .finally(() => {
        looking = undefined
        if (isOn && changed.length > 0) void look()
      })
    return looking
  }

  function lookOn(): void {
    nextPart = undefined
    void look()
  }

  function take(): readonly string[] {
    const taken = changed
    changed = []
    return taken
  }

  notifications.on(channel, budget => {
    if (!isOn) return
    changed.push(budget)
    void look()
  })
  notifications.onReconnect(() => void (isOn && look()))

  return {
    start() {
      isOn = true
      void look()
      stopSweeping = every(sweepMs, look)
    },
    async stop() {
      isOn = false
      clearTimeout(nextPart)
      await stopSweeping?.()
      await looking
    },
  }
}

/** Where the look ended, when there were more budgets than one look goes through. */
async function resumeReady(
  deps: Deps,
  from: { readonly changed: readonly string[]; readonly after: BudgetId | undefined },
): Promise<BudgetId | undefined> {
  const { sessions, after } = await deps.pauses.ready({ ...from, limit: maxResumed })
  for (const ready of sessions) await resume(deps, ready)
  return after
}

/** The lock comes first, so that whoever gives the session's lease back has either done so, or sees the prompt. */
async function resume({ pool, pauses, sessions, wakeUps }: Deps, ready: ReadySession): Promise<void> {
  await transaction(pool, async client => {
    await sessions.lock(client, ready.session_id)
    if (!(await pauses.resume(client, ready))) return
    await sessions.setDue(client, ready.session_id)
    wakeUps.send(client, ready.session_id)
  })
}
