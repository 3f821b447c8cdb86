import type { BudgetReached } from '../../contract/events.ts'
import type { Notifications } from '../db/notifications.ts'
import { AppError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import { every } from '../platform/timers.ts'
import { type FreezeRow, type FreezeStore, freezeChannel } from './freeze-store.ts'

/** Who pays for a call or a run. */
export interface FrozenPayers {
  /** The key and its ancestors: whoever freezes a key freezes its descendants. */
  readonly keys: readonly string[]
  readonly owner: string | undefined
}

/** Why nothing is spent now. */
export interface FreezeStop {
  readonly reached: BudgetReached
  readonly message: string
}

/**
 * Whose spending is frozen, in memory: no call waits for the database. A change is loaded as soon as its hint arrives, and by a
 * poll every 2 s where that is lost. While the database cannot be reached, what was loaded stays in force.
 */
export interface Freezes {
  /** False while nothing is frozen, so that calls need not say who pays. */
  readonly isAny: boolean
  /** What stands against spending for these payers; undefined when nothing does. */
  stopOf(payers: FrozenPayers): FreezeStop | undefined
  /** The same as `budget_exceeded`, which clients do not try again by themselves and which pauses sessions. */
  refusal(payers: FrozenPayers): AppError | undefined
  /** Resolves when a change that was committed before is in force in this process. */
  reload(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

interface Deps {
  readonly store: Pick<FreezeStore, 'all'>
  readonly notifications: Pick<Notifications, 'on' | 'onReconnect'>
  readonly log: Pick<Log, 'debug'>
}

const pollMs = 2_000

type Facts = Pick<FreezeRow, 'scope' | 'scope_id' | 'reason' | 'created_at'>

/** Create it before the notifications start. */
export function createFreezes({ store, notifications, log }: Deps): Freezes {
  let frozen: ReadonlyMap<string, Facts> = new Map()
  /** Counts loads, so that an older answer never replaces a newer one. */
  let loads = 0
  let loaded = 0
  let stopPolling: (() => Promise<void>) | undefined

  async function reload(): Promise<void> {
    const load = ++loads
    const rows = await store.all()
    if (load < loaded) return
    loaded = load
    frozen = new Map(rows.map(row => [nameOf(row), row]))
  }
  const reloadLater = () =>
    reload().catch((cause: unknown) => log.debug({ err: cause }, 'freezes could not be loaded; the next poll will'))

  notifications.on(freezeChannel, () => void reloadLater())
  notifications.onReconnect(() => void reloadLater())

  function find({ keys, owner }: FrozenPayers): Facts | undefined {
    const names = [...keys.map(id => `key:${id}`), ...(owner === undefined ? [] : [`owner:${owner}`])]
    const name = ['all:', ...names].find(each => frozen.has(each))
    return name === undefined ? undefined : frozen.get(name)
  }

  function stopOf(payers: FrozenPayers): FreezeStop | undefined {
    const found = frozen.size === 0 ? undefined : find(payers)
    return found && { reached: reachedBy(found), message: messageOf(found) }
  }

  return {
    get isAny() {
      return frozen.size > 0
    },
    stopOf,
    refusal(payers) {
      const stop = stopOf(payers)
      if (!stop) return undefined
      const { reached, message } = stop
      const headers = { 'x-switchyard-budget-scope': reached.scope }
      return new AppError('budget_exceeded', message, { cause: reached, headers, fields: { code: 'spending_frozen' } })
    },
    reload,
    async start() {
      await reload()
      stopPolling = every(pollMs, reloadLater)
    },
    async stop() {
      await stopPolling?.()
    },
  }
}

const nameOf = ({ scope, scope_id }: Pick<FreezeRow, 'scope' | 'scope_id'>): string => `${scope}:${scope_id}`

function messageOf({ scope, scope_id, reason, created_at }: Facts): string {
  const whose = scope === 'all' ? 'all spending' : `spending of ${scope} ${scope_id.slice(0, 200)}`
  const why = reason === null ? '' : `: ${reason}`
  return `${whose} is frozen since ${created_at.toISOString()}${why}; an admin can lift the freeze`
}

const reachedBy = ({ scope, scope_id }: Facts): BudgetReached => ({
  type: 'budget_reached',
  scope,
  scope_id,
  is_frozen: true,
  max_usd: null,
  needed_usd: null,
  resets_at: null,
})
