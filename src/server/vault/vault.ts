import { maxVaultValueBytes, type VaultEntry, type VaultScope } from '../../contract/vault.ts'
import type { Audit } from '../audit/audit.ts'
import type { RunSql } from '../db/once.ts'
import type { RowSealer } from '../db/sealed-rows.ts'
import type { Actor, By, Caller } from '../http/caller.ts'
import { AppError, invalid, invalidCursor, notFound } from '../platform/errors.ts'
import { SealError } from '../platform/seal.ts'
import type { EntryName, EntryVersion, ListedEntry, OnChange, VaultStore } from './store.ts'

interface Deps {
  readonly store: VaultStore
  readonly sealer: RowSealer<'vault_entries'>
  readonly audit: Audit
  /** Runs in the transaction of a write. */
  readonly onSet?: (sql: RunSql, entry: EntryName, caller: Caller) => Promise<void>
}

interface EntryWrite {
  readonly key: string
  readonly value: string
  /** Undefined: global where the caller may, else the caller's own. */
  readonly scope?: VaultScope
}

interface Wanted {
  readonly name: string
  /** Whose agent asks; undefined for nobody's. */
  readonly ownerId: string | undefined
  /** False: only an entry of that owner counts. True by default. */
  readonly mayBeGlobal?: boolean
}

/** The owner of global entries, as the table has it. */
const everybody = ''

/** Secrets by name. Their values leave it only to features of the service, never to a caller. Security: S11, S15. */
export type Vault = ReturnType<typeof createVault>

export function createVault({ store, sealer, audit, onSet }: Deps) {
  const recorded =
    (action: 'set' | 'delete', actor: Actor): OnChange =>
    (sql, before, after) => {
      const { owner_id = everybody, key = '' } = after ?? before ?? {}
      const fields = { before: publicFields(before), after: publicFields(after) }
      const ownerId = owner_id === everybody ? null : owner_id
      return audit.record(sql, { actor, action: `vault.${action}`, objectId: key, ownerId, ...fields })
    }

  return {
    /** By name. Global entries are shown to those who may change them. */
    async list(caller: Caller, page: { after: string | undefined; limit: number }): Promise<VaultEntry[]> {
      const owners = mayTouchGlobal(caller) ? [everybody, caller.principal] : [caller.principal]
      const after = page.after === undefined ? undefined : placeOf(page.after, caller)
      return (await store.list({ owners, after, limit: page.limit })).map(shown)
    },

    async set({ key, value, scope }: EntryWrite, { caller, actor }: By): Promise<void> {
      const entry = { owner_id: ownerOf(scope ?? (mayTouchGlobal(caller) ? 'global' : 'owner'), caller), key }
      if (Buffer.byteLength(value) > maxVaultValueBytes) throw invalid('value must have at most 65536 bytes in UTF-8')
      const record = recorded('set', actor)
      await store.set(
        entry,
        version => sealer.seal(value, version),
        async (sql, before, after) => {
          await record(sql, before, after)
          await onSet?.(sql, entry, caller)
        },
      )
    },

    async remove({ key, scope }: Omit<EntryWrite, 'value'>, { caller, actor }: By): Promise<void> {
      const scopes = scope ? [scope] : mayTouchGlobal(caller) ? (['owner', 'global'] as const) : (['owner'] as const)
      for (const each of scopes) {
        if (await store.remove({ owner_id: ownerOf(each, caller), key }, recorded('delete', actor))) return
      }
      throw notFound('vault entry', key)
    },

    /** The secret that an agent of this owner gets under this name: the owner's, else the global one where that counts. */
    async value({ name, ownerId, mayBeGlobal = true }: Wanted): Promise<string | undefined> {
      const owners = [...(ownerId === undefined ? [] : [ownerId]), ...(mayBeGlobal ? [everybody] : [])]
      const row = await store.find(owners, name)
      try {
        return row && sealer.open(row).toString()
      } catch (error) {
        if (!(error instanceof SealError)) throw error
        throw new AppError('unavailable', `vault entry ${name} does not open: ${error.message}`, { cause: error })
      }
    },
  }
}

/** Global entries reach the agents of all owners. */
const mayTouchGlobal = ({ role, ownerScope }: Caller): boolean => role === 'admin' && ownerScope === undefined

function ownerOf(scope: VaultScope, caller: Caller): string {
  if (scope === 'owner') return caller.principal
  if (!mayTouchGlobal(caller)) throw new AppError('forbidden', 'forbidden')
  return everybody
}

const scopeOf = ({ owner_id }: EntryName): VaultScope => (owner_id === everybody ? 'global' : 'owner')

const publicFields = (entry: EntryVersion | undefined) => entry && { scope: scopeOf(entry), version: entry.version }

const shown = (entry: ListedEntry): VaultEntry => ({
  key: entry.key,
  scope: scopeOf(entry),
  updated_at: entry.updated_at.toISOString(),
})

/** Where an entry stands in the caller's list, as cursors carry it. */
export const placeIn = ({ key, scope }: VaultEntry): string => `${scope}:${key}`

function placeOf(after: string, { principal }: Caller): EntryName {
  const [, scope, key] = /^(global|owner):(.+)$/s.exec(after) ?? []
  if (key === undefined) throw invalidCursor()
  return { owner_id: scope === 'owner' ? principal : everybody, key }
}
