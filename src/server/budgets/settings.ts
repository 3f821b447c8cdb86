import type { Pool } from 'pg'
import type { Budget, BudgetWrite } from '../../contract/budgets.ts'
import type { Audit } from '../audit/audit.ts'
import { transaction } from '../db/connect.ts'
import { sqlOfClient } from '../db/once.ts'
import type { By, Caller } from '../http/caller.ts'
import { isNarrow } from '../http/reach.ts'
import { AppError, notFound } from '../platform/errors.ts'
import type { BudgetLimits, BudgetName, BudgetRow, BudgetStore } from './store.ts'

interface Deps {
  readonly pool: Pool
  readonly store: BudgetStore
  readonly audit: Audit
}

interface ListOf {
  readonly scope: BudgetName['scope'] | undefined
  /** `nameOf` the last one of the page before. */
  readonly after: string | undefined
  readonly limit: number
}

/** The rules of setting budgets: who may set whose, and what is said of it in the audit log. */
export type BudgetSettings = ReturnType<typeof createBudgetSettings>

export function createBudgetSettings({ pool, store, audit }: Deps) {
  /** Refuses what the caller cannot see, and limits of nothing. Whose it is otherwise. */
  async function owned(name: BudgetName, caller: Caller): Promise<string | null> {
    const { ownerScope } = caller
    const owner = await store.ownerOf(name)
    const within = ancestorOf(caller)
    if (name.scope === 'key' && within !== undefined && !(await store.isWithin(name.scope_id, within)))
      throw notFound('key', name.scope_id)
    if (owner === undefined || (ownerScope !== undefined && owner !== ownerScope))
      throw name.scope === 'owner' ? missing(name) : notFound(name.scope, name.scope_id)
    return owner
  }

  /** A limited admin sets how the money of an owner is shared out, not how much it is. */
  function refuseOwnLimits({ scope }: BudgetName, caller: Caller): void {
    if (scope === 'owner' && isNarrow(caller))
      throw new AppError('forbidden', 'forbidden: the budget of an owner is set by an admin without limits')
  }

  return {
    async list({ scope, after, limit }: ListOf, caller: Caller): Promise<Budget[]> {
      const last = after === undefined ? undefined : parsedName(after)
      const page = { scope, owner: caller.ownerScope, within: ancestorOf(caller), after: last, limit }
      return (await store.list(page)).map(toBudget)
    },

    async get(name: BudgetName, caller: Caller): Promise<Budget> {
      await owned(name, caller)
      const row = await store.find(name)
      if (!row) throw missing(name)
      return toBudget(row)
    },

    /** Sets all limits; what the write leaves out is not limited. */
    async set(name: BudgetName, write: BudgetWrite, { caller, actor }: By): Promise<Budget> {
      const ownerId = await owned(name, caller)
      refuseOwnLimits(name, caller)
      return transaction(pool, async client => {
        const before = await store.find(name, client)
        await store.setLimits(client, name, limitsOf(write))
        const row = await store.find(name, client)
        if (!row) throw new Error(`the budget of ${nameOf(name)} is not there right after its change`)
        const entry = { actor, action: 'budget.set', objectId: nameOf(name), ownerId }
        const change = { before: before && publicFields(before), after: publicFields(row) }
        await audit.record(sqlOfClient(client), { ...entry, ...change })
        return toBudget(row)
      })
    },

    async remove(name: BudgetName, { caller, actor }: By): Promise<void> {
      const ownerId = await owned(name, caller)
      refuseOwnLimits(name, caller)
      await transaction(pool, async client => {
        const before = await store.find(name, client)
        if (!before) throw missing(name)
        await store.remove(client, name)
        const entry = { actor, action: 'budget.delete', objectId: nameOf(name), ownerId }
        await audit.record(sqlOfClient(client), { ...entry, before: publicFields(before) })
      })
    },
  }
}

/** The key whose descendants a limited admin sees; undefined: it sees all keys. */
const ancestorOf = (caller: Caller): string | undefined => (isNarrow(caller) ? caller.key?.id : undefined)

/** As lists are paged by it and the audit log shows it: `owner:acme`. */
export const nameOf = ({ scope, scope_id }: BudgetName): string => `${scope}:${scope_id}`

function parsedName(text: string): BudgetName {
  const colon = text.indexOf(':')
  // The cursor was made of a name; one that somebody else made up just stands before or behind all others.
  return { scope: text.slice(0, colon) as BudgetName['scope'], scope_id: text.slice(colon + 1) }
}

const missing = ({ scope, scope_id }: BudgetName): AppError => notFound('budget', `of ${scope} ${scope_id}`)

const usdIn = (amount: number | null | undefined): string | null =>
  amount === null || amount === undefined ? null : String(amount)

const limitsOf = (write: BudgetWrite): BudgetLimits => ({
  max_usd: usdIn(write.max_budget),
  soft_usd: usdIn(write.soft_budget),
  duration: write.budget_duration ?? null,
  rpm_limit: write.rpm_limit ?? null,
  tpm_limit: write.tpm_limit ?? null,
  max_parallel: write.max_parallel_requests ?? null,
})

const usdOf = (amount: string | null): number | null => (amount === null ? null : Number(amount))

/** What an admin has set. */
const publicFields = (row: BudgetRow) => ({
  max_budget: usdOf(row.max_usd),
  soft_budget: usdOf(row.soft_usd),
  budget_duration: row.duration,
  rpm_limit: row.rpm_limit,
  tpm_limit: row.tpm_limit,
  max_parallel_requests: row.max_parallel,
})

const toBudget = (row: BudgetRow): Budget => ({
  scope: row.scope,
  scope_id: row.scope_id,
  ...publicFields(row),
  budget_reset_at: row.reset_at?.toISOString() ?? null,
  spend: Number(row.spent_usd),
  reserved: Number(row.reserved_usd),
  parallel_requests: row.parallel,
})
