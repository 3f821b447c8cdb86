import type { Pool, PoolClient } from 'pg'
import type { ApiKey, ApiKeyWrite, ShownApiKey } from '../../contract/keys.ts'
import type { Audit } from '../audit/audit.ts'
import type { BudgetLimits, BudgetStore } from '../budgets/store.ts'
import { transaction } from '../db/connect.ts'
import { once, sqlOfClient } from '../db/once.ts'
import type { Actor, Caller } from '../http/caller.ts'
import type { Idempotency } from '../http/idempotency.ts'
import { isNarrow } from '../http/reach.ts'
import type { ValueCipher } from '../platform/encryption.ts'
import { AppError, invalid, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { intervalOf } from './durations.ts'
import { applyWrite, unlimited } from './fields.ts'
import { hashOf, newKey, shownParts } from './format.ts'
import { type KeyFields, type KeyRow, publicFields, toApiKey } from './key-row.ts'
import type { KeyLookup } from './lookup.ts'
import type { KeyFilter, KeyStore, Reach } from './store.ts'
import { exceededLimit } from './strength.ts'

interface Deps {
  readonly pool: Pool
  readonly store: KeyStore
  readonly lookup: KeyLookup
  /** HMAC key of the key hashes. */
  readonly pepper: Buffer
  /** Encrypts stored answers for idempotent retries, since they contain a key. */
  readonly cipher: ValueCipher
  /** Stores the limits of keys. */
  readonly budgets: Pick<BudgetStore, 'setLimits'>
  readonly audit: Audit
}

/** Who makes a change: the caller for access checks, the actor for the audit log, and the idempotency key. */
interface By {
  readonly caller: Caller
  readonly actor: Actor
  readonly idempotency?: Idempotency | undefined
}

type ListOf = KeyFilter & { readonly owner: string | undefined }

/** Rules for virtual keys: who may create which, what a write changes, and the lookup of presented keys. */
export type Keys = ReturnType<typeof createKeys>

export function createKeys(deps: Deps) {
  const { pool, store, lookup, pepper, budgets, audit } = deps

  /** Records a change in the audit log; returns the changed key. */
  async function recordChange(client: PoolClient, id: string, { action, actor, before }: Change): Promise<KeyRow> {
    const row = await store.find(id, everyKey, client)
    if (!row) throw new Error(`key ${id} does not exist right after it was changed (bug)`)
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

  /** Like `recordChange`, and notifies every process. */
  async function recordAndAnnounce(client: PoolClient, id: string, change: Change): Promise<KeyRow> {
    const row = await recordChange(client, id, change)
    await store.announce(client, id)
    return row
  }

  /** Returns the fields of a key after a write. Throws `forbidden` if they exceed the caller's own key. */
  async function fieldsAfter(client: PoolClient, write: ApiKeyWrite, { before, own, caller }: Writing) {
    const expiresAt =
      write.duration === undefined ? undefined : await store.timeAfter(client, intervalOf(write.duration))
    // A new key inherits from the key that creates it, so that omitted fields never exceed it.
    const fields = applyWrite(before ?? (own ? inherited(own) : unlimited), write, expiresAt)
    if (write.expires_at) await rejectPast(client, fields, before)
    rejectStronger(fields, own)
    rejectOtherHolder(fields, before ?? own, caller)
    await rejectOutliving(client, fields, before)
    await rejectWrongHolder(client, fields, before)
    return fields
  }

  /** Rejects a user, a team or an owner that the key cannot have. Others than the changed ones are not checked again. */
  async function rejectWrongHolder(client: PoolClient, fields: KeyFields, before: KeyRow | undefined) {
    const { user_id, team_id, owner_id } = fields
    if (before?.user_id === user_id && before.team_id === team_id && before.owner_id === owner_id) return
    if (user_id === null && team_id === null) return
    const { has_user, has_team, is_member, is_own } = await store.checkHolder(client, fields)
    if (!has_user) throw invalid(`user_id ${user_id} does not exist`)
    if (!has_team) throw invalid(`team_id ${team_id} does not exist`)
    if (!is_member) throw invalid(`team_id ${team_id} is not a team of user ${user_id}; add the user to the team first`)
    if (!is_own) throw invalid('owner_id must be that of the user or of its team; omit it for that of the user')
  }

  /**
   * Rejects a new expiry time in the past as a mistake. An expired key may be written with its unchanged expiry time.
   */
  async function rejectPast(client: PoolClient, { expires_at: ends }: KeyFields, before: KeyRow | undefined) {
    const isChanged = ends?.getTime() !== before?.expires_at?.getTime()
    if (ends && isChanged && ends <= (await store.timeAfter(client, intervalOf('0s')))) {
      throw invalid(`expires_at ${ends.toISOString()} is in the past`)
    }
  }

  /** Rejects an expiry time after that of the parent key, which may expire before the caller's own key. */
  async function rejectOutliving(client: PoolClient, { expires_at }: KeyFields, before: KeyRow | undefined) {
    const parent = before?.parent_id ? await store.find(before.parent_id, everyKey, client) : undefined
    if (parent?.expires_at && (!expires_at || expires_at > parent.expires_at))
      throw invalid(`expires_at is later than that of the parent key (${parent.expires_at.toISOString()})`)
  }

  /**
   * Returns the caller's own key; undefined for the master key and for an admin in the console without limits. `isParent` locks it and its ancestors against changes.
   */
  async function ownKey(client: PoolClient, caller: Caller, isParent = false): Promise<KeyRow | undefined> {
    const { key } = caller
    if (!key) return undefined
    const own = await (isParent ? store.lockWithAncestors(client, key.id) : store.find(key.id, everyKey, client))
    if (!own || own.revoked_at) throw new AppError('unauthorized', 'unauthorized')
    // What an admin sets up in the console must not end with its sign-in key.
    return own.is_sign_in && !isNarrow(caller) ? undefined : own
  }

  /**
   * Locks a key that is visible to the caller and not revoked. Throws `forbidden` if it exceeds the caller's own key.
   */
  async function lockChangeable(client: PoolClient, id: string, { caller, own }: Locking): Promise<KeyRow> {
    const row = await store.lock(client, id, reachOf(caller))
    if (!row) throw notFound('key', id)
    if (row.revoked_at) throw new AppError('conflict', `key ${id} was revoked; create a new one`)
    if (row.is_sign_in)
      throw new AppError(
        'conflict',
        `key ${id} belongs to the sign-ins of user ${row.user_id}; change the user instead`,
      )
    rejectStronger(row, own)
    return row
  }

  /** Stores the answer, which contains a key, encrypted for idempotent retries. */
  const showOnce = (client: PoolClient, { idempotency }: By, work: () => Promise<ShownApiKey>) =>
    once(sqlOfClient(client), idempotency && { ...idempotency, cipher: deps.cipher }, work)

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
      rejectForeign(write, caller)
      return transaction(pool, client =>
        showOnce(client, by, async () => {
          const own = await ownKey(client, caller, true)
          const fields = await fieldsAfter(client, write, { before: undefined, own, caller })
          const id = newId('key')
          const key = newKey()
          const row = { ...fields, id, ...shownParts(key), created_by: caller.principal, ...childOf(own) }
          await store.insert(client, row)
          await budgets.setLimits(client, { scope: 'key', scope_id: id }, fields)
          await store.addHash(client, id, hashOf(key, pepper))
          return { ...toApiKey(await recordAndAnnounce(client, id, { action: 'create', actor })), key }
        }),
      )
    },

    async update(id: string, write: ApiKeyWrite, { caller, actor }: By): Promise<ApiKey> {
      rejectForeign(write, caller)
      const row = await transaction(pool, async client => {
        const own = await ownKey(client, caller)
        const before = await lockChangeable(client, id, { caller, own })
        const fields = await fieldsAfter(client, write, { before, own, caller })
        await store.update(client, id, { ...fields, ...unchangedOf(before, write) })
        if (fields.expires_at) await store.endDescendants(client, id, fields.expires_at)
        await budgets.setLimits(client, { scope: 'key', scope_id: id }, fields)
        return recordAndAnnounce(client, id, { action: 'update', actor, before })
      })
      lookup.forget(id)
      return toApiKey(row)
    },

    /** Replaces the secret of a key. The old one stays valid for `grace`, or ends at once. */
    async rotate(id: string, grace: string | undefined, by: By): Promise<ShownApiKey> {
      const { caller, actor } = by
      const answer = await transaction(pool, client =>
        showOnce(client, by, async () => {
          // The answer contains the key, so it must not exceed the caller's own key.
          const before = await lockChangeable(client, id, { caller, own: await ownKey(client, caller) })
          const key = newKey()
          await store.endHashes(client, id, grace === undefined ? undefined : intervalOf(grace))
          await store.addHash(client, id, hashOf(key, pepper))
          await store.show(client, id, shownParts(key))
          return { ...toApiKey(await recordAndAnnounce(client, id, { action: 'rotate', actor, before })), key }
        }),
      )
      lookup.forget(id)
      return answer
    },

    /** Revokes the key and its descendants. The records stay, for the ledger. Repeating it succeeds. */
    async revoke(id: string, { caller, actor }: By): Promise<void> {
      const ended = await transaction(pool, async client => {
        const own = await ownKey(client, caller)
        const before = await store.lock(client, id, reachOf(caller))
        if (!before) throw notFound('key', id)
        if (before.revoked_at) return []
        rejectStronger(before, own)
        const all = [before, ...(await store.revoke(client, id))]
        for (const row of all) await recordChange(client, row.id, { action: 'delete', actor, before: row })
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
  readonly caller: Caller
}

type Locking = Pick<Writing, 'own' | 'caller'>

const everyKey: Reach = { owner: undefined, within: undefined }

/** Limited admin keys may access themselves and their descendants, unlimited ones every key. */
const reachOf = (caller: Caller): Reach => ({
  owner: caller.ownerScope,
  within: isNarrow(caller) ? caller.key?.id : undefined,
})

const maxDepth = 8

/** Returns parent and ancestors of a key that `own` creates. */
function childOf(own: KeyRow | undefined): Pick<KeyRow, 'parent_id' | 'ancestors'> {
  if (!own) return { parent_id: null, ancestors: [] }
  if (own.ancestors.length >= maxDepth)
    throw new AppError(
      'conflict',
      `keys nest at most ${maxDepth} levels deep; create the key with an ancestor of this key`,
    )
  return { parent_id: own.id, ancestors: [own.id, ...own.ancestors] }
}

/** Fields that a new key inherits: all except label, role and metadata. */
const inherited = (own: KeyRow): KeyFields & BudgetLimits => ({ ...own, label: '', role: 'user', metadata: {} })

/**
 * Returns owner and role as they are stored, unless the write changes them. Those that apply follow the user of the key, and
 * must not stay when the role of the user changes.
 */
const unchangedOf = ({ stored }: KeyRow, write: ApiKeyWrite): Partial<KeyFields> => ({
  ...(write.owner_id === undefined && write.user_id === undefined && { owner_id: stored.owner_id }),
  ...(write.role === undefined && { role: stored.role }),
})

/** Users and teams belong to the whole service, and a team pays for its keys. */
function rejectOtherHolder(
  { user_id, team_id }: KeyFields,
  base: Pick<KeyFields, 'user_id' | 'team_id'> | undefined,
  caller: Caller,
): void {
  if (isNarrow(caller) && (user_id !== base?.user_id || team_id !== base.team_id))
    throw new AppError('forbidden', 'only an admin without limits may set user_id or team_id')
}

function rejectForeign({ owner_id }: ApiKeyWrite, { ownerScope }: Caller): void {
  if (ownerScope !== undefined && owner_id !== undefined && owner_id !== ownerScope)
    throw new AppError('forbidden', `owner_id must be ${ownerScope}, the owner of this key`)
}

function rejectStronger(fields: KeyFields & BudgetLimits, own: KeyRow | undefined): void {
  const exceeded = own && exceededLimit(fields, own)
  if (exceeded)
    throw new AppError('forbidden', `${exceeded.field} exceeds the limit of your own key (${exceeded.limit})`)
}
