import type { BudgetReached } from '../../contract/events.ts'
import type { Notifications } from '../db/notifications.ts'
import { AppError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import { every } from '../platform/timers.ts'
import { type FreezeRow, type FreezeStore, freezeChannel } from './freeze-store.ts'

/** Key and owner that pay for a call or a run. */
export interface FrozenPayers {
  /** The key and its ancestors: a freeze of a key also covers its descendants. */
  readonly keys: readonly string[]
  readonly owner: string | undefined
}

/** The freeze that stops spending. */
export interface FreezeStop {
  readonly reached: BudgetReached
  readonly message: string
}

/**
 * Freezes in memory, so that calls do not query the database. A change is loaded when its hint arrives, or at the next
 * poll (every 2 s) when the hint is lost. While the database is unreachable, the loaded freezes stay in force.
 */
export interface Freezes {
  /** False while no freeze exists, so that callers can skip the look-up of payers. */
  readonly isAny: boolean
  /** Returns the freeze that stops these payers; undefined when they may spend. */
  stopOf(payers: FrozenPayers): FreezeStop | undefined
  /** Returns the same as error `budget_exceeded`, which clients do not retry and which pauses sessions. */
  rejection(payers: FrozenPayers): AppError | undefined
  /** Resolves when all changes committed before are in force in this process. */
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

/** Must be created before the notifications start. */
export function createFreezes({ store, notifications, log }: Deps): Freezes {
  let frozen: ReadonlyMap<string, Facts> = new Map()
  /** Counts loads, so that an older result never replaces a newer one. */
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
    reload().catch((cause: unknown) => log.debug({ err: cause }, 'could not load freezes; retrying at the next poll'))

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
    rejection(payers) {
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
  return `${whose} has been frozen since ${created_at.toISOString()}${why}; an admin can lift the freeze`
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
