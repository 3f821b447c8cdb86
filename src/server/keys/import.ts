import type { Pool, PoolClient } from 'pg'
import type { Audit } from '../audit/audit.ts'
import type { BudgetLimits, BudgetName, BudgetStore } from '../budgets/store.ts'
import { transaction } from '../db/connect.ts'
import { sqlOfClient } from '../db/once.ts'
import { serviceActor } from '../http/caller.ts'
import { newId } from '../platform/ids.ts'
import { unlimited } from './fields.ts'
import { hashOfImported } from './imported.ts'
import { type KeyFields, publicFields } from './key-row.ts'
import type { KeyStore } from './store.ts'

/** What was spent in the current period of a budget. */
export interface ImportedSpend {
  /** US dollars as an exact decimal. */
  readonly usd: string
  /** End of the period; null if the budget is never reset. */
  readonly resetAt: Date | null
}

export interface ImportedBudget extends ImportedSpend {
  readonly limits: BudgetLimits
}

/** A key of another gateway, whose secret is not known. */
export interface ImportedKey {
  /** Name of the gateway. */
  readonly source: string
  /** SHA-256 of the key in hex. */
  readonly sha256: string
  readonly fields: Pick<KeyFields, 'label' | 'models' | 'metadata' | 'expires_at'>
  /** Undefined: the key is its own owner, so that it does not see objects of others. */
  readonly ownerId: string | undefined
  readonly last4: string
  readonly budget: ImportedBudget
  /** Budget of its owner, which is created unless there is one. */
  readonly ownerBudget: ImportedBudget | undefined
}

interface Deps {
  readonly pool: Pool
  readonly store: KeyStore
  /** HMAC key of the key hashes. */
  readonly pepper: Buffer
  readonly budgets: Pick<BudgetStore, 'setLimits'> & {
    /** Stores what was spent elsewhere. */
    setSpend(client: PoolClient, name: BudgetName, spend: ImportedSpend): Promise<void>
    exists(client: PoolClient, name: BudgetName): Promise<boolean>
  }
  readonly audit: Audit
}

export type KeyImport = ReturnType<typeof createKeyImport>

/** Creates keys from another gateway, each once. */
export function createKeyImport({ pool, store, pepper, budgets, audit }: Deps) {
  const sourceOf = ({ source, sha256 }: ImportedKey): string =>
    `${source}:${hashOfImported(sha256, pepper).toString('hex')}`

  async function setBudget(client: PoolClient, name: BudgetName, { limits, ...spend }: ImportedBudget): Promise<void> {
    await budgets.setLimits(client, name, limits)
    await budgets.setSpend(client, name, spend)
  }

  return {
    /** True if the key was imported before. */
    isImported: (key: ImportedKey): Promise<boolean> => store.isImported(sourceOf(key)),

    /** Creates the key and the budget of its owner. Returns false for a key that was imported before. */
    async add(key: ImportedKey): Promise<boolean> {
      const source = sourceOf(key)
      return transaction(pool, async client => {
        if (!(await store.claimImport(client, source))) return false
        const id = newId('key')
        const owner_id = key.ownerId ?? id
        const fields = { ...unlimited, ...key.fields, owner_id }
        const row = {
          ...fields,
          id,
          prefix: 'sk-',
          last4: key.last4,
          created_by: key.source,
          parent_id: null,
          ancestors: [],
        }
        await store.insert(client, row)
        await setBudget(client, { scope: 'key', scope_id: id }, key.budget)
        const owner = { scope: 'owner', scope_id: owner_id } as const
        if (key.ownerBudget && !(await budgets.exists(client, owner))) await setBudget(client, owner, key.ownerBudget)
        await store.addHash(client, id, hashOfImported(key.sha256, pepper))
        await store.markImported(client, id, source)
        const stored = await store.find(id, { owner: undefined, within: undefined }, client)
        if (!stored) throw new Error(`key ${id} does not exist right after it was imported (bug)`)
        await audit.record(sqlOfClient(client), {
          actor: serviceActor,
          action: 'key.create',
          objectId: id,
          ownerId: owner_id,
          after: publicFields(stored),
        })
        await store.announce(client, id)
        return true
      })
    },
  }
}
