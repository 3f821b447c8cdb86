import type { Pool, PoolClient } from 'pg'
import type { ApiKey, ApiKeyWrite, ShownApiKey } from '../../contract/keys.ts'
import type { Audit } from '../audit/audit.ts'
import type { BudgetLimits, BudgetStore } from '../budgets/store.ts'
import { transaction } from '../db/connect.ts'
import { once, sqlOfClient } from '../db/once.ts'
import type { Actor, Caller } from '../http/caller.ts'
import type { Idempotency } from '../http/idempotency.ts'
import { AppError, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { Sealer } from '../platform/seal.ts'
import { intervalOf } from './durations.ts'
import { applyWrite, unlimited } from './fields.ts'
import { hashOf, newKey, shownParts } from './format.ts'
import { type KeyFields, type KeyRow, publicFields, toApiKey } from './key-row.ts'
import type { KeyLookup } from './lookup.ts'
import type { KeyStore } from './store.ts'
import { strongerField } from './strength.ts'

interface Deps {
  readonly pool: Pool
  readonly store: KeyStore
  readonly lookup: KeyLookup
  /** Of the hashes. */
  readonly pepper: Buffer
  /** Seals answers that are kept for a repeat of the request: they hold a key. */
  readonly sealer: Sealer
  /** Where the limits of keys are. */
  readonly budgets: Pick<BudgetStore, 'setLimits'>
  readonly audit: Audit
}

/** Who asks for a change: what they may do, what the audit log says of them, and how often they may be asking. */
interface By {
  readonly caller: Caller
  readonly actor: Actor
  readonly idempotency?: Idempotency | undefined
}

interface ListOf {
  readonly owner: string | undefined
  readonly withRevoked: boolean
  readonly after: string | undefined
  readonly limit: number
}

/** The rules of virtual keys: who may make which, what a write changes, and what a presented key opens. */
export type Keys = ReturnType<typeof createKeys>

export function createKeys(deps: Deps) {
  const { pool, store, lookup, pepper, budgets, audit } = deps

  /** The key as it is when a change is done; what it was before tells the audit log. */
  async function done(client: PoolClient, id: string, change: Change): Promise<KeyRow> {
    const row = await store.find(id, undefined, client)
    if (!row) throw new Error(`key ${id} is not there right after its change`)
    const { action, actor, before } = change
    await audit.record(sqlOfClient(client), {
      actor,
      action: `key.${action}`,
      objectId: id,
      ownerId: row.owner_id,
      before: before && publicFields(before),
      after: publicFields(row),
    })
    await store.announce(client, id)
    return row
  }

  /** What a write makes of a key. `forbidden` when that is more than the caller's own key may do. */
  async function written(client: PoolClient, write: ApiKeyWrite, { before, caller }: Writing) {
    const lasting = write.duration === undefined ? undefined : await store.timeAfter(client, intervalOf(write.duration))
    const own = await ownKey(client, caller)
    // A key is made in the image of the key that makes it: what is not said must not be more.
    const fields = applyWrite(before ?? (own ? inherited(own) : unlimited), write, lasting)
    refuseStronger(fields, own)
    return fields
  }

  async function ownKey(client: PoolClient, { key }: Caller): Promise<KeyRow | undefined> {
    if (!key) return undefined
    const own = await store.find(key.id, undefined, client)
    if (!own || own.revoked_at) throw new AppError('unauthorized', 'unauthorized')
    return own
  }

  /** The key that the caller may see and that can still be changed. */
  async function locked(client: PoolClient, id: string, caller: Caller): Promise<KeyRow> {
    const row = await store.lock(client, id, caller.ownerScope)
    if (!row) throw notFound('key', id)
    if (row.revoked_at) throw new AppError('conflict', `key ${id} was revoked; create a new one`)
    return row
  }

  /** Answers that show a key are remembered for a repeat, sealed. */
  const shownOnce = (client: PoolClient, { idempotency }: By, work: () => Promise<ShownApiKey>) =>
    once(sqlOfClient(client), idempotency && { ...idempotency, sealer: deps.sealer }, work)

  return {
    ...lookup,

    async get(id: string, caller: Caller): Promise<ApiKey> {
      const row = await store.find(id, caller.ownerScope)
      if (!row) throw notFound('key', id)
      return toApiKey(row)
    },

    async list({ owner, ...page }: ListOf, { ownerScope }: Caller): Promise<ApiKey[]> {
      if (ownerScope !== undefined && owner !== undefined && owner !== ownerScope) return []
      return (await store.list({ ...page, owner: ownerScope ?? owner })).map(toApiKey)
    },

    async create(write: ApiKeyWrite, by: By): Promise<ShownApiKey> {
      const { caller, actor } = by
      refuseForeign(write, caller)
      return transaction(pool, client =>
        shownOnce(client, by, async () => {
          const fields = await written(client, write, { before: undefined, caller })
          const id = newId('key')
          const key = newKey()
          await store.insert(client, { ...fields, id, ...shownParts(key), created_by: caller.principal })
          await budgets.setLimits(client, { scope: 'key', scope_id: id }, fields)
          await store.addHash(client, id, hashOf(key, pepper))
          return { ...toApiKey(await done(client, id, { action: 'create', actor })), key }
        }),
      )
    },

    async update(id: string, write: ApiKeyWrite, { caller, actor }: By): Promise<ApiKey> {
      refuseForeign(write, caller)
      const row = await transaction(pool, async client => {
        const before = await locked(client, id, caller)
        const fields = await written(client, write, { before, caller })
        await store.update(client, id, fields)
        await budgets.setLimits(client, { scope: 'key', scope_id: id }, fields)
        return done(client, id, { action: 'update', actor, before })
      })
      lookup.forget(id)
      return toApiKey(row)
    },

    /** Gives the key a new secret. The old one goes on for `grace`, or ends at once. */
    async rotate(id: string, grace: string | undefined, by: By): Promise<ShownApiKey> {
      const { caller, actor } = by
      const answer = await transaction(pool, client =>
        shownOnce(client, by, async () => {
          const before = await locked(client, id, caller)
          // The answer hands the key over.
          refuseStronger(before, await ownKey(client, caller))
          const key = newKey()
          await store.endHashes(client, id, grace === undefined ? undefined : intervalOf(grace))
          await store.addHash(client, id, hashOf(key, pepper))
          await store.show(client, id, shownParts(key))
          return { ...toApiKey(await done(client, id, { action: 'rotate', actor, before })), key }
        }),
      )
      lookup.forget(id)
      return answer
    },

    /** Ends the key for good: its record stays, so that the ledger can name it. Repeating it succeeds. */
    async revoke(id: string, { caller, actor }: By): Promise<void> {
      await transaction(pool, async client => {
        const before = await store.lock(client, id, caller.ownerScope)
        if (!before) throw notFound('key', id)
        if (before.revoked_at) return
        await store.revoke(client, id)
        await store.endHashes(client, id, undefined)
        await done(client, id, { action: 'delete', actor, before })
      })
      lookup.forget(id)
    },
  }
}

interface Change {
  readonly action: 'create' | 'update' | 'rotate' | 'delete'
  readonly actor: Actor
  readonly before?: KeyRow
}

interface Writing {
  /** Undefined for a new key. */
  readonly before: KeyRow | undefined
  readonly caller: Caller
}

/** Name, role and notes are a key's own. */
const inherited = (own: KeyRow): KeyFields & BudgetLimits => ({ ...own, label: '', role: 'user', metadata: {} })

function refuseForeign({ owner_id }: ApiKeyWrite, { ownerScope }: Caller): void {
  if (ownerScope !== undefined && owner_id !== undefined && owner_id !== ownerScope)
    throw new AppError('forbidden', 'forbidden')
}

function refuseStronger(fields: KeyFields & BudgetLimits, own: KeyRow | undefined): void {
  const field = own && strongerField(fields, own)
  if (field !== undefined) throw new AppError('forbidden', `forbidden: ${field} goes beyond that of your own key`)
}
