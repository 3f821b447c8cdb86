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
  /** `nameOf` the last item of the previous page. */
  readonly after: string | undefined
  readonly limit: number
}

/** Rules for reading and setting budgets: access checks, and records in the audit log. */
export type BudgetSettings = ReturnType<typeof createBudgetSettings>

export function createBudgetSettings({ pool, store, audit }: Deps) {
  /**
   * Returns the owner of a budget. Throws `not_found` if its subject does not exist or is not visible to the caller.
   */
  async function visibleOwnerOf(name: BudgetName, caller: Caller): Promise<string | null> {
    const { ownerScope } = caller
    const owner = await store.ownerOf(name)
    const within = ancestorOf(caller)
    if (name.scope === 'key' && within !== undefined && !(await store.isWithin(name.scope_id, within)))
      throw notFound('key', name.scope_id)
    if (owner === undefined || (ownerScope !== undefined && owner !== ownerScope))
      throw name.scope === 'owner' ? missing(name) : notFound(name.scope, name.scope_id)
    return owner
  }

  /** Limited admins may distribute the budget of an owner or a team but not change it. */
  function forbidOwnLimits({ scope }: BudgetName, caller: Caller): void {
    if ((scope === 'owner' || scope === 'team') && isNarrow(caller))
      throw new AppError(
        'forbidden',
        `only an admin without limits may set the budget of ${scope === 'owner' ? 'an owner' : 'a team'}`,
      )
  }

  return {
    async list({ scope, after, limit }: ListOf, caller: Caller): Promise<Budget[]> {
      const last = after === undefined ? undefined : parsedName(after)
      const page = { scope, owner: caller.ownerScope, within: ancestorOf(caller), after: last, limit }
      return (await store.list(page)).map(toBudget)
    },

    /** Returns at most 20 budgets of which 80 % or more are spent or reserved, the fullest first. */
    async full(caller: Caller): Promise<Budget[]> {
      const reach = { owner: caller.ownerScope, within: ancestorOf(caller) }
      return (await store.full(reach, { share: 0.8, limit: 20 })).map(toBudget)
    },

    async get(name: BudgetName, caller: Caller): Promise<Budget> {
      await visibleOwnerOf(name, caller)
      const row = await store.find(name)
      if (!row) throw missing(name)
      return toBudget(row)
    },

    /** Sets all limits. An omitted limit is removed. */
    async set(name: BudgetName, write: BudgetWrite, { caller, actor }: By): Promise<Budget> {
      const ownerId = await visibleOwnerOf(name, caller)
      forbidOwnLimits(name, caller)
      return transaction(pool, async client => {
        const before = await store.find(name, client)
        await store.setLimits(client, name, limitsOf(write))
        const row = await store.find(name, client)
        if (!row) throw new Error(`budget of ${nameOf(name)} does not exist right after it was set (bug)`)
        const entry = { actor, action: 'budget.set', objectId: nameOf(name), ownerId }
        const change = { before: before && publicFields(before), after: publicFields(row) }
        await audit.record(sqlOfClient(client), { ...entry, ...change })
        return toBudget(row)
      })
    },

    async remove(name: BudgetName, { caller, actor }: By): Promise<void> {
      const ownerId = await visibleOwnerOf(name, caller)
      forbidOwnLimits(name, caller)
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

/** Returns the key whose descendants a limited admin may see; undefined if the caller may see all keys. */
const ancestorOf = (caller: Caller): string | undefined => (isNarrow(caller) ? caller.key?.id : undefined)

/** Returns `scope:scope_id`, such as `owner:acme`, for cursors and the audit log. */
export const nameOf = ({ scope, scope_id }: BudgetName): string => `${scope}:${scope_id}`

function parsedName(text: string): BudgetName {
  const colon = text.indexOf(':')
  // A forged cursor is harmless: it sorts before or after all budgets.
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

/** Fields that admins set. */
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
  scope_name: row.scope_name,
  ...publicFields(row),
  budget_reset_at: row.reset_at?.toISOString() ?? null,
  spend: Number(row.spent_usd),
  reserved: Number(row.reserved_usd),
  parallel_requests: row.parallel,
})
