import { maxVaultValueBytes, type VaultEntry, type VaultScope, type VaultUse } from '../../contract/vault.ts'
import type { Audit } from '../audit/audit.ts'
import type { RowCipher } from '../db/encrypted-rows.ts'
import type { RunSql } from '../db/once.ts'
import type { Actor, By, Caller } from '../http/caller.ts'
import { DecryptionError } from '../platform/encryption.ts'
import { AppError, invalid, invalidCursor, notFound } from '../platform/errors.ts'
import type { EntryName, EntryVersion, ListedEntry, OnChange, VaultStore } from './store.ts'
import type { UseStore } from './use-store.ts'

interface Deps {
  readonly store: VaultStore
  /** Agents and MCP servers that name entries. */
  readonly uses: UseStore
  /** Returns what the configuration names: an entry of the vault for each use. */
  readonly configuredUses?: () => readonly (VaultUse & { readonly key: string })[]
  readonly cipher: RowCipher<'vault_entries'>
  readonly audit: Audit
  /** Runs in the transaction of a write. */
  readonly onSet?: (sql: RunSql, entry: EntryName, caller: Caller) => Promise<void>
}

interface EntryWrite {
  readonly key: string
  readonly value: string
  /** Undefined: global when the caller may change global entries, else the caller's own. */
  readonly scope?: VaultScope
}

interface ValueQuery {
  readonly name: string
  /** Owner of the agent that reads the value; undefined for an agent without an owner. */
  readonly ownerId: string | undefined
  /** False: only an entry of that owner is returned. True by default. */
  readonly mayBeGlobal?: boolean
}

/** `owner_id` of global entries. */
const globalOwner = ''

/** Secrets by name. Only features of the service read their values; no route returns one. Security: S11, S15. */
export type Vault = ReturnType<typeof createVault>

export function createVault({ store, uses, configuredUses = () => [], cipher, audit, onSet }: Deps) {
  const recorded =
    (action: 'set' | 'delete', actor: Actor): OnChange =>
    (sql, before, after) => {
      const { owner_id = globalOwner, key = '' } = after ?? before ?? {}
      const fields = { before: publicFields(before), after: publicFields(after) }
      const ownerId = owner_id === globalOwner ? null : owner_id
      return audit.record(sql, { actor, action: `vault.${action}`, objectId: key, ownerId, ...fields })
    }

  async function shown(entries: readonly ListedEntry[]): Promise<VaultEntry[]> {
    if (entries.length === 0) return []
    const stored = await uses.of(entries)
    const configured = configuredUses()
    return entries.map((entry, at) => {
      const { uses: found, count } = stored[at] ?? { uses: [], count: 0 }
      const others = entry.owner_id === globalOwner ? configured.filter(({ key }) => key === entry.key) : []
      const all = [...others.map(({ key: _key, ...use }) => use), ...gitUses(entry), ...found]
      return {
        key: entry.key,
        scope: scopeOf(entry),
        created_at: entry.created_at.toISOString(),
        updated_at: entry.updated_at.toISOString(),
        last_used_at: entry.last_used_at?.toISOString() ?? null,
        used_by: all.slice(0, maxUses),
        used_by_count: all.length - found.length + count,
      }
    })
  }

  return {
    /** Lists entries by name. Callers that may change global entries see those too. */
    async list(caller: Caller, page: { after: string | undefined; limit: number }): Promise<VaultEntry[]> {
      const owners = mayChangeGlobal(caller) ? [globalOwner, caller.principal] : [caller.principal]
      const after = page.after === undefined ? undefined : placeOf(page.after, caller)
      return shown(await store.list({ owners, after, limit: page.limit }))
    },

    /** Returns an entry without its value. Throws `not_found`. */
    async get({ key, scope }: Omit<EntryWrite, 'value'>, caller: Caller): Promise<VaultEntry> {
      for (const each of scopesOf(scope, caller)) {
        const entry = await store.listed({ owner_id: ownerOf(each, caller), key })
        const [found] = entry ? await shown([entry]) : []
        if (found) return found
      }
      throw notFound('vault entry', key)
    },

    async set({ key, value, scope }: EntryWrite, { caller, actor }: By): Promise<void> {
      const entry = { owner_id: ownerOf(scope ?? (mayChangeGlobal(caller) ? 'global' : 'owner'), caller), key }
      if (Buffer.byteLength(value) > maxVaultValueBytes) throw invalid('value must have at most 65536 bytes in UTF-8')
      const record = recorded('set', actor)
      await store.set(
        entry,
        version => cipher.encrypt(value, version),
        async (sql, before, after) => {
          await record(sql, before, after)
          await onSet?.(sql, entry, caller)
        },
      )
    },

    async remove({ key, scope }: Omit<EntryWrite, 'value'>, { caller, actor }: By): Promise<void> {
      for (const each of scopesOf(scope, caller)) {
        if (await store.remove({ owner_id: ownerOf(each, caller), key }, recorded('delete', actor))) return
      }
      throw notFound('vault entry', key)
    },

    /** Returns the value for an agent of this owner: the owner's entry, else the global one if `mayBeGlobal`. */
    async value({ name, ownerId, mayBeGlobal = true }: ValueQuery): Promise<string | undefined> {
      const owners = [...(ownerId === undefined ? [] : [ownerId]), ...(mayBeGlobal ? [globalOwner] : [])]
      const row = await store.find(owners, name)
      // Not awaited: the write must neither delay nor fail a call, and its time would reveal that the entry exists. Security: S27.
      if (row?.is_use_due) void store.used(row).catch(() => undefined)
      try {
        return row && cipher.decrypt(row).toString()
      } catch (error) {
        if (!(error instanceof DecryptionError)) throw error
        throw new AppError('unavailable', `cannot decrypt vault entry ${name}: ${error.message}`, { cause: error })
      }
    },
  }
}

/** Agents of all owners can read global entries, so only an admin without an owner may change them. */
const mayChangeGlobal = ({ role, ownerScope }: Caller): boolean => role === 'admin' && ownerScope === undefined

function ownerOf(scope: VaultScope, caller: Caller): string {
  if (scope === 'owner') return caller.principal
  if (!mayChangeGlobal(caller)) throw new AppError('forbidden', 'scope "global" needs an admin without an owner')
  return globalOwner
}

const scopeOf = ({ owner_id }: EntryName): VaultScope => (owner_id === globalOwner ? 'global' : 'owner')

const publicFields = (entry: EntryVersion | undefined) => entry && { scope: scopeOf(entry), version: entry.version }

const maxUses = 20

/** Entries for hosts of repositories are found by their name. */
const gitUses = ({ key }: EntryName): VaultUse[] =>
  key.startsWith('git.') && key.length > 4
    ? [{ kind: 'git_host', id: key.slice(4), name: key.slice(4), field: 'environment.repository' }]
    : []

/** Without a scope the caller's own entry comes first. */
const scopesOf = (scope: VaultScope | undefined, caller: Caller): readonly VaultScope[] => {
  if (scope) return [scope]
  return mayChangeGlobal(caller) ? ['owner', 'global'] : ['owner']
}

/** Position of an entry in the caller's list, for cursors. */
export const placeIn = ({ key, scope }: VaultEntry): string => `${scope}:${key}`

function placeOf(after: string, { principal }: Caller): EntryName {
  const [, scope, key] = /^(global|owner):(.+)$/s.exec(after) ?? []
  if (key === undefined) throw invalidCursor()
  return { owner_id: scope === 'owner' ? principal : globalOwner, key }
}
