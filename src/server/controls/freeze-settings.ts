import type { Pool } from 'pg'
import type { Freeze, FreezeWrite } from '../../contract/controls.ts'
import type { Audit } from '../audit/audit.ts'
import { transaction } from '../db/connect.ts'
import { sqlOfClient } from '../db/once.ts'
import type { By, Caller } from '../http/caller.ts'
import { isNarrow } from '../http/reach.ts'
import type { Keys } from '../keys/keys.ts'
import { AppError, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { FreezeReach, FreezeRow, FreezeStore } from './freeze-store.ts'
import type { Freezes } from './freezes.ts'
import { rejectOutOfReach, targetOf } from './target.ts'

interface Deps {
  readonly pool: Pool
  readonly store: FreezeStore
  readonly freezes: Pick<Freezes, 'reload'>
  readonly keys: Pick<Keys, 'get'>
  readonly audit: Audit
}

/** Each process has all freezes in memory. */
const maxFreezes = 1_000

/** Rules of freezes: who may freeze whose spending, and who may lift a freeze. */
export type FreezeSettings = ReturnType<typeof createFreezeSettings>

export function createFreezeSettings({ pool, store, freezes, keys, audit }: Deps) {
  /** Applies the change here before the response; other processes apply it at the hint, or at their next poll. */
  const applyHere = () => freezes.reload().catch(() => undefined)

  return {
    async list(caller: Caller, page: { after: string | undefined; limit: number }): Promise<Freeze[]> {
      return (await store.list(reachOf(caller), page)).map(toFreeze)
    },

    /** Freezes spending, or updates the reason of an existing freeze. */
    async set({ reason, ...named }: FreezeWrite, { caller, actor }: By): Promise<Freeze> {
      const { scope, id: scope_id } = targetOf(named, 'key_id, owner or all')
      if (scope === 'session' || scope === 'agent') throw new Error(`${scope} cannot be frozen`)
      await rejectOutOfReach({ scope, id: scope_id }, caller, keys)
      if (isNarrow(caller) && scope !== 'key') throw needsUnlimited
      const row = await transaction(pool, async client => {
        const before = await store.lockOf(client, { scope, scope_id })
        if (!before && (await store.count(client)) >= maxFreezes)
          throw new AppError('conflict', `limit of ${maxFreezes} freezes reached; freeze an owner, or all`)
        const given = {
          id: newId('freeze'),
          scope,
          scope_id,
          reason: reason ?? null,
          is_by_limited_key: isNarrow(caller),
        }
        const after = await store.set(client, { ...given, created_by: caller.principal })
        await audit.record(sqlOfClient(client), {
          actor,
          action: 'freeze.set',
          objectId: after.id,
          ownerId: scope === 'owner' ? scope_id : null,
          before: before && toFreeze(before),
          after: toFreeze(after),
        })
        return after
      })
      await applyHere()
      return toFreeze(row)
    },

    /** Lifts a freeze. A key with limits can lift only freezes that such a key has set. */
    async lift(id: string, { caller, actor }: By): Promise<void> {
      await transaction(pool, async client => {
        const before = await store.lock(client, id, reachOf(caller))
        if (!before) throw notFound('freeze', id)
        if (isNarrow(caller) && !before.is_by_limited_key) throw needsUnlimited
        await store.remove(client, id)
        const ownerId = before.scope === 'owner' ? before.scope_id : null
        await audit.record(sqlOfClient(client), {
          actor,
          action: 'freeze.delete',
          objectId: id,
          ownerId,
          before: toFreeze(before),
        })
      })
      await applyHere()
    },
  }
}

const needsUnlimited = new AppError('forbidden', 'only an admin without limits may set or lift this freeze')

const reachOf = (caller: Caller): FreezeReach => ({
  owner: caller.ownerScope,
  within: isNarrow(caller) ? caller.key?.id : undefined,
})

const toFreeze = ({ id, scope, scope_id, reason, created_by, created_at }: FreezeRow): Freeze => ({
  id,
  scope,
  scope_id: scope === 'all' ? null : scope_id,
  reason,
  created_by,
  created_at: created_at.toISOString(),
})
