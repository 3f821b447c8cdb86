import type { Pool, PoolClient } from 'pg'
import type { ApiKey, ApiKeyWrite, ShownApiKey } from '../../contract/keys.ts'
import type { Audit } from '../audit/audit.ts'
import type { BudgetLimits, BudgetStore } from '../budgets/store.ts'
import { transaction } from '../db/connect.ts'
import { once, sqlOfClient } from '../db/once.ts'
import type { Actor, Caller } from '../http/caller.ts'
import type { Idempotency } from '../http/idempotency.ts'
import { isNarrow } from '../http/reach.ts'
import { AppError, invalid, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { Sealer } from '../platform/seal.ts'
import { intervalOf } from './durations.ts'
import { applyWrite, unlimited } from './fields.ts'
import { hashOf, newKey, shownParts } from './format.ts'
import { type KeyFields, type KeyRow, publicFields, toApiKey } from './key-row.ts'
import type { KeyLookup } from './lookup.ts'
import type { KeyStore, Reach } from './store.ts'
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

  /** Records the key as it is after a change; what it was before tells the audit log. */
  async function recorded(client: PoolClient, id: string, { action, actor, before }: Change): Promise<KeyRow> {
    const row = await store.find(id, everyKey, client)
    if (!row) throw new Error(`key ${id} is not there right after its change`)
    await audit.record(sqlOfClient(client), {
      actor,
      action: `key.${action}`,
      objectId: id,
      ownerId: row.owner_id,
      before: before && publicFields(before),
      after: publicFields(row),
    })
    return row
  }

  /** As `recorded`, and tells every process. */
  async function done(client: PoolClient, id: string, change: Change): Promise<KeyRow> {
    const row = await recorded(client, id, change)
    await store.announce(client, id)
    return row
  }

  /** What a write makes of a key. `forbidden` when that is more than the caller's own key may do. */
  async function written(client: PoolClient, write: ApiKeyWrite, { before, own }: Writing) {
    const lasting = write.duration === undefined ? undefined : await store.timeAfter(client, intervalOf(write.duration))
    // A key is made in the image of the key that makes it: what is not said must not be more.
    const fields = applyWrite(before ?? (own ? inherited(own) : unlimited), write, lasting)
    if (write.expires_at) await refusePast(client, fields, before)
    refuseStronger(fields, own)
    await refuseOutliving(client, fields, before)
    return fields
  }

  /** A key that is dead at once is a slip of the pen; one that has expired already may be written as it is. */
  async function refusePast(client: PoolClient, { expires_at: ends }: KeyFields, before: KeyRow | undefined) {
    const isChanged = ends?.getTime() !== before?.expires_at?.getTime()
    if (ends && isChanged && ends <= (await store.timeAfter(client, intervalOf('0s')))) {
      throw invalid(`expires_at ${ends.toISOString()} is in the past`)
    }
  }

  /** A parent may have been given less time by someone else than the caller has. */
  async function refuseOutliving(client: PoolClient, { expires_at }: KeyFields, before: KeyRow | undefined) {
    const parent = before?.parent_id ? await store.find(before.parent_id, everyKey, client) : undefined
    if (parent?.expires_at && (!expires_at || expires_at > parent.expires_at))
      throw invalid(`expires_at is after that of the parent key (${parent.expires_at.toISOString()})`)
  }

  /** The caller's own key; undefined for the master key. `isParent` keeps it and its ancestors from ending meanwhile. */
  async function ownKey(client: PoolClient, { key }: Caller, isParent = false): Promise<KeyRow | undefined> {
    if (!key) return undefined
    const own = await (isParent ? store.lockLine(client, key.id) : store.find(key.id, everyKey, client))
    if (!own || own.revoked_at) throw new AppError('unauthorized', 'unauthorized')
    return own
  }

  /** The key that the caller may see and that can still be changed. A key that is stronger than the caller's is `forbidden`. */
  async function locked(client: PoolClient, id: string, { caller, own }: Locking): Promise<KeyRow> {
    const row = await store.lock(client, id, reachOf(caller))
    if (!row) throw notFound('key', id)
    if (row.revoked_at) throw new AppError('conflict', `key ${id} was revoked; create a new one`)
    refuseStronger(row, own)
    return row
  }

  /** Answers that show a key are remembered for a repeat, sealed. */
  const shownOnce = (client: PoolClient, { idempotency }: By, work: () => Promise<ShownApiKey>) =>
    once(sqlOfClient(client), idempotency && { ...idempotency, sealer: deps.sealer }, work)

  return {
    ...lookup,

    async get(id: string, caller: Caller): Promise<ApiKey> {
      const row = await store.find(id, reachOf(caller))
      if (!row) throw notFound('key', id)
      return toApiKey(row)
    },

    async list({ owner, ...page }: ListOf, caller: Caller): Promise<ApiKey[]> {
      const { ownerScope } = caller
      if (ownerScope !== undefined && owner !== undefined && owner !== ownerScope) return []
      return (await store.list({ ...page, ...reachOf(caller), owner: ownerScope ?? owner })).map(toApiKey)
    },

    async create(write: ApiKeyWrite, by: By): Promise<ShownApiKey> {
      const { caller, actor } = by
      refuseForeign(write, caller)
      return transaction(pool, client =>
        shownOnce(client, by, async () => {
          const own = await ownKey(client, caller, true)
          const fields = await written(client, write, { before: undefined, own })
          const id = newId('key')
          const key = newKey()
          const row = { ...fields, id, ...shownParts(key), created_by: caller.principal, ...childOf(own) }
          await store.insert(client, row)
          await budgets.setLimits(client, { scope: 'key', scope_id: id }, fields)
          await store.addHash(client, id, hashOf(key, pepper))
          return { ...toApiKey(await done(client, id, { action: 'create', actor })), key }
        }),
      )
    },

    async update(id: string, write: ApiKeyWrite, { caller, actor }: By): Promise<ApiKey> {
      refuseForeign(write, caller)
      const row = await transaction(pool, async client => {
        const own = await ownKey(client, caller)
        const before = await locked(client, id, { caller, own })
        const fields = await written(client, write, { before, own })
        await store.update(client, id, fields)
        if (fields.expires_at) await store.endDescendants(client, id, fields.expires_at)
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
          // The answer hands the key over, so it must not be a stronger one.
          const before = await locked(client, id, { caller, own: await ownKey(client, caller) })
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

    /** Ends the key and its descendants for good: the records stay, so that the ledger can name them. Repeating it succeeds. */
    async revoke(id: string, { caller, actor }: By): Promise<void> {
      const ended = await transaction(pool, async client => {
        const own = await ownKey(client, caller)
        const before = await store.lock(client, id, reachOf(caller))
        if (!before) throw notFound('key', id)
        if (before.revoked_at) return []
        refuseStronger(before, own)
        const all = [before, ...(await store.revoke(client, id))]
        for (const row of all) await recorded(client, row.id, { action: 'delete', actor, before: row })
        await store.announce(client, id)
        return all
      })
      for (const row of ended) lookup.forget(row.id)
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
  /** The caller's own key; undefined for the master key. */
  readonly own: KeyRow | undefined
}

interface Locking extends Pick<Writing, 'own'> {
  readonly caller: Caller
}

const everyKey: Reach = { owner: undefined, within: undefined }

/** A limited admin key reaches itself and its descendants, an unlimited one every key. */
const reachOf = (caller: Caller): Reach => ({
  owner: caller.ownerScope,
  within: isNarrow(caller) ? caller.key?.id : undefined,
})

const maxDepth = 8

/** The place of a key that `own` creates. */
function childOf(own: KeyRow | undefined): Pick<KeyRow, 'parent_id' | 'ancestors'> {
  if (!own) return { parent_id: null, ancestors: [] }
  if (own.ancestors.length >= maxDepth)
    throw new AppError(
      'conflict',
      `keys nest at most ${maxDepth} levels below the first; create the key with an ancestor`,
    )
  return { parent_id: own.id, ancestors: [own.id, ...own.ancestors] }
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
