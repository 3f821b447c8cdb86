import type { Pool, PoolClient } from 'pg'
import type { NewUser, User, UserChange } from '../../contract/users.ts'
import type { Audit } from '../audit/audit.ts'
import { transaction } from '../db/connect.ts'
import type { By, Caller } from '../http/caller.ts'
import { rejectNarrow } from '../http/reach.ts'
import type { KeyStore } from '../keys/store.ts'
import { AppError, invalid, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { auditedUser, userAudit } from './user-audit.ts'
import type { UserFilter, UserStore } from './user-store.ts'

interface Deps {
  readonly pool: Pool
  readonly store: UserStore
  readonly keys: Pick<KeyStore, 'announceKeysOf' | 'revokeKeysOf'>
  readonly audit: Audit
}

/** Principals of the service itself. */
const reservedOwners: readonly string[] = ['master', 'service']

/** Throws `conflict` for an owner that is not free. */
export async function requireFreeOwner(client: PoolClient, store: Pick<UserStore, 'isTaken'>, owner: string) {
  if (reservedOwners.includes(owner) || (await store.isTaken(client, owner)))
    throw new AppError('conflict', `owner_id ${owner} belongs to another user or team; choose another one`)
}

/** Rules for people and service accounts. Only admins without limits may use them. */
export type Users = ReturnType<typeof createUsers>

export function createUsers({ pool, store, keys, audit }: Deps) {
  async function requireFreeEmail(client: PoolClient, email: string | null, id: string): Promise<void> {
    if (email !== null && (await store.hasEmail(client, email, id)))
      throw new AppError('conflict', `email ${email} belongs to another user`)
  }

  async function found(client: PoolClient, id: string): Promise<User> {
    const user = await store.find(id, client)
    if (!user) throw new Error(`user ${id} does not exist right after it was changed (bug)`)
    return user
  }

  const record = userAudit(audit)

  return {
    async list(filter: UserFilter, caller: Caller): Promise<User[]> {
      rejectNarrow({ caller })
      return store.list(filter)
    },

    async get(id: string, caller: Caller): Promise<User> {
      rejectNarrow({ caller })
      const user = await store.find(id)
      if (!user) throw notFound('user', id)
      return user
    },

    async create({ kind = 'person', name, email = null, owner_id, role = 'member' }: NewUser, by: By): Promise<User> {
      rejectNarrow(by)
      if (kind === 'service_account' && email !== null)
        throw invalid('email must be null for a service account, which never signs in')
      return transaction(pool, async client => {
        const id = newId('user')
        const owner = owner_id ?? id
        await requireFreeOwner(client, store, owner)
        await requireFreeEmail(client, email, id)
        const fields = { kind, name, email, owner_id: owner, role }
        await store.insert(client, { ...fields, id, created_by: by.caller.principal })
        const user = await found(client, id)
        await record(client, by.actor, { action: 'create', user, after: auditedUser(user) })
        return user
      })
    },

    async update(id: string, change: UserChange, by: By): Promise<User> {
      rejectNarrow(by)
      return transaction(pool, async client => {
        const before = await store.lock(client, id)
        if (!before) throw notFound('user', id)
        const after = { ...before, ...change }
        if (before.kind === 'service_account' && after.email !== null)
          throw invalid('email must be null for a service account, which never signs in')
        await requireFreeEmail(client, after.email, id)
        await store.update(client, after)
        await record(client, by.actor, {
          action: 'update',
          user: before,
          before: auditedUser(before),
          after: auditedUser(after),
        })
        await keys.announceKeysOf(client, [id], null)
        return found(client, id)
      })
    },

    /** Deletes a user and revokes its keys. */
    async remove(id: string, by: By): Promise<void> {
      rejectNarrow(by)
      await transaction(pool, async client => {
        const user = await store.lock(client, id)
        if (!user) throw notFound('user', id)
        const revoked_keys = await keys.revokeKeysOf(client, { userId: id })
        await store.remove(client, id)
        await record(client, by.actor, { action: 'delete', user, before: { ...auditedUser(user), revoked_keys } })
      })
    },
  }
}
