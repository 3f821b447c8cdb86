import type { Pool, PoolClient } from 'pg'
import {
  type ManagedVault,
  type ManagedVaultCreate,
  type ManagedVaultUpdate,
  maxCredentials,
  type VaultCredential,
  type VaultCredentialCreate,
  type VaultCredentialUpdate,
} from '../../../contract/managed-vaults.ts'
import type { Audit } from '../../audit/audit.ts'
import { transaction } from '../../db/connect.ts'
import { once, sqlOfClient } from '../../db/once.ts'
import type { By, Caller } from '../../http/caller.ts'
import type { Idempotency } from '../../http/idempotency.ts'
import { AppError, invalid, notFound } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import { patched } from '../../platform/metadata.ts'
import type { Vault } from '../../vault/vault.ts'
import { canonicalUrl, changedSecret, newSecret } from './credential-write.ts'
import { toCredential, toManagedVault } from './vault-objects.ts'
import type { CredentialRow, ManagedVaultStore, VaultRow } from './vault-store.ts'

interface Deps {
  readonly pool: Pool
  readonly store: ManagedVaultStore
  /** Stores the secrets, each under the id of its credential, for the owner of the vault. */
  readonly vault: Pick<Vault, 'set' | 'remove' | 'value'>
  readonly audit: Audit
}

interface Page {
  readonly withArchived: boolean
  readonly after: string | undefined
  readonly limit: number
}

/** A credential for the address of an MCP server. */
export interface UrlCredential {
  readonly id: string
  readonly token: string
}

/** Vaults of the Managed Agents dialect: each belongs to its creator, and no route returns a secret. */
export type ManagedVaults = ReturnType<typeof createManagedVaults>

export function createManagedVaults({ pool, store, vault, audit }: Deps) {
  async function found(id: string, caller: Caller): Promise<VaultRow> {
    const row = await store.find(id, caller.ownerScope)
    if (!row) throw notFound('vault', id)
    return row
  }

  async function foundCredential(vaultId: string, id: string, caller: Caller) {
    const owner = await found(vaultId, caller)
    const row = await store.credential(vaultId, id)
    if (!row) throw notFound('credential', id)
    return { owner, row }
  }

  /**
   * Runs `work` with the vault locked. Records `action`, unless the vault records the change of a secret. Throws
   * `invalid_request` for an archived vault.
   */
  async function change<Result>(
    { id, action, objectId = id, mayBeArchived = false, ...by }: By & Change,
    work: (client: PoolClient, row: VaultRow) => Promise<Result>,
  ): Promise<Result> {
    return transaction(pool, async client => {
      const row = await store.lock(client, id, by.caller.ownerScope)
      if (!row) throw notFound('vault', id)
      if (row.archived_at && !mayBeArchived) throw invalid(`vault ${id} is archived and cannot be changed`)
      const result = await work(client, row)
      const fields = { objectId, ownerId: row.owner_id, after: { display_name: row.display_name } }
      if (action) await audit.record(sqlOfClient(client), { actor: by.actor, action, ...fields })
      return result
    })
  }

  /** Deletes secrets after the commit: a credential without its secret is not used. */
  async function forget(ids: readonly string[], by: By, { owner_id }: VaultRow): Promise<void> {
    for (const key of ids)
      await vault.remove({ key, scope: 'owner' }, asOwner(by, owner_id)).catch((error: unknown) => {
        if (!(error instanceof AppError && error.code === 'not_found')) throw error
      })
  }

  const keep = (id: string, token: string, by: By, { owner_id }: VaultRow): Promise<void> =>
    vault.set({ key: id, value: token, scope: 'owner' }, asOwner(by, owner_id))

  const allOf = (client: PoolClient, id: string): Promise<CredentialRow[]> =>
    store.credentials(id, { withArchived: true, after: undefined, limit: maxStored }, client)

  return {
    get: async (id: string, caller: Caller): Promise<ManagedVault> => toManagedVault(await found(id, caller)),

    list: async (page: Page, caller: Caller): Promise<ManagedVault[]> =>
      (await store.list(caller.ownerScope, page)).map(toManagedVault),

    create: ({ display_name, metadata = {} }: ManagedVaultCreate, by: By, idempotency: Idempotency | undefined) =>
      transaction(pool, client =>
        once(sqlOfClient(client), idempotency, async (): Promise<ManagedVault> => {
          const owner_id = by.caller.principal
          const row = await store.insert(client, { id: newId('vlt'), owner_id, display_name, metadata })
          const fields = { objectId: row.id, ownerId: owner_id, after: { display_name } }
          await audit.record(sqlOfClient(client), { actor: by.actor, action: 'managed_vault.create', ...fields })
          return toManagedVault(row)
        }),
      ),

    update: (id: string, body: ManagedVaultUpdate, by: By): Promise<ManagedVault> =>
      change({ id, action: 'managed_vault.update', ...by }, async (client, before) => {
        const display_name = body.display_name ?? before.display_name
        const metadata = patched(before.metadata, body.metadata)
        return toManagedVault(await store.update(client, id, { display_name, metadata }))
      }),

    async archive(id: string, by: By): Promise<ManagedVault> {
      const { row, ids } = await change(
        { id, action: 'managed_vault.archive', mayBeArchived: true, ...by },
        async (client, before) => {
          const all = (await allOf(client, id)).map(credential => credential.id)
          await store.archiveCredentials(client, all)
          return { row: before.archived_at ? before : await store.archive(client, id), ids: all }
        },
      )
      await forget(ids, by, row)
      return toManagedVault(row)
    },

    async remove(id: string, by: By): Promise<void> {
      const { row, ids } = await change(
        { id, action: 'managed_vault.delete', mayBeArchived: true, ...by },
        async (client, before) => {
          const all = (await allOf(client, id)).map(credential => credential.id)
          await store.remove(client, id)
          return { row: before, ids: all }
        },
      )
      await forget(ids, by, row)
    },

    async credentials(vaultId: string, page: Page, caller: Caller): Promise<VaultCredential[]> {
      await found(vaultId, caller)
      return (await store.credentials(vaultId, page)).map(toCredential)
    },

    credential: async (vaultId: string, id: string, caller: Caller): Promise<VaultCredential> =>
      toCredential((await foundCredential(vaultId, id, caller)).row),

    /** The secret is stored first: a credential never lacks its secret. */
    async createCredential(vaultId: string, body: VaultCredentialCreate, by: By): Promise<VaultCredential> {
      const { token, ...secret } = newSecret(body.auth)
      const { display_name = null, metadata = {} } = body
      const owner = await found(vaultId, by.caller)
      if (owner.archived_at) throw invalid(`vault ${vaultId} is archived and cannot be changed`)
      await checkRoom(pool, vaultId, secret.mcp_server_url)
      const id = newId('vcrd')
      await keep(id, token, by, owner)
      try {
        return await change({ id: vaultId, ...by }, async client => {
          await checkRoom(client, vaultId, secret.mcp_server_url)
          const fields = { id, vault_id: vaultId, ...secret, display_name, metadata }
          return toCredential(await store.insertCredential(client, fields))
        })
      } catch (error) {
        await forget([id], by, owner)
        throw error
      }
    },

    async updateCredential(
      vaultId: string,
      id: string,
      { auth, display_name, metadata }: VaultCredentialUpdate,
      by: By,
    ): Promise<VaultCredential> {
      const { owner, row: current } = await foundCredential(vaultId, id, by.caller)
      const { token, expires_at } = changedSecret(current, auth)
      const recorded = token === undefined ? { action: 'vault_credential.update', objectId: id } : {}
      const updated = await change({ id: vaultId, ...recorded, ...by }, async client => {
        const before = await store.credential(vaultId, id, client)
        if (!before) throw notFound('credential', id)
        if (before.archived_at) throw invalid(`credential ${id} is archived and cannot be changed`)
        return store.updateCredential(client, id, {
          display_name: display_name === undefined ? before.display_name : display_name,
          expires_at: expires_at === undefined ? before.expires_at : expires_at,
          metadata: patched(before.metadata, metadata),
        })
      })
      if (token !== undefined) await keep(id, token, by, owner)
      return toCredential(updated)
    },

    async archiveCredential(vaultId: string, id: string, by: By): Promise<VaultCredential> {
      const { owner } = await foundCredential(vaultId, id, by.caller)
      await change({ id: vaultId, mayBeArchived: true, ...by }, client => store.archiveCredentials(client, [id]))
      await forget([id], by, owner)
      return toCredential((await foundCredential(vaultId, id, by.caller)).row)
    },

    async removeCredential(vaultId: string, id: string, by: By): Promise<void> {
      const { owner, row } = await foundCredential(vaultId, id, by.caller)
      const recorded = row.archived_at ? { action: 'vault_credential.delete', objectId: id } : {}
      await change({ id: vaultId, ...recorded, mayBeArchived: true, ...by }, client =>
        store.removeCredential(client, id),
      )
      await forget([id], by, owner)
    },

    /** Checks the vaults of a new session. Throws `invalid_request`, naming the field. */
    async checkForSession(ids: readonly string[], caller: Caller): Promise<void> {
      const rows = new Map((await store.among(ids, caller.ownerScope)).map(row => [row.id, row]))
      for (const [at, id] of ids.entries()) {
        const row = rows.get(id)
        if (!row) throw invalid(`vault_ids[${at}]: vault ${id} not found`)
        if (row.archived_at) throw invalid(`vault_ids[${at}]: vault ${id} is archived`)
      }
    },

    /** Returns the credential that a session has for an MCP server; undefined without one. */
    async credentialFor(sessionId: string, url: string): Promise<UrlCredential | undefined> {
      const credential = await store.forSession(sessionId, canonicalUrl(url))
      if (!credential) return undefined
      const { id, owner_id: ownerId } = credential
      const token = await vault.value({ name: id, ownerId, mayBeGlobal: false })
      return token === undefined ? undefined : { id, token }
    },
  }

  async function checkRoom(on: Pick<Pool, 'query'>, vaultId: string, url: string): Promise<void> {
    const page = { withArchived: false, after: undefined, limit: maxCredentials }
    const active = await store.credentials(vaultId, page, on)
    const same = active.find(({ mcp_server_url }) => mcp_server_url === url)
    if (same)
      throw new AppError('conflict', `vault ${vaultId} has credential ${same.id} for auth.mcp_server_url; update it`)
    if (active.length >= maxCredentials)
      throw invalid(`vault ${vaultId} has ${maxCredentials} credentials, the maximum`)
  }
}

interface Change {
  readonly id: string
  /** Recorded in the audit log; absent for a change that the vault records. */
  readonly action?: string
  /** The vault by default. */
  readonly objectId?: string
  readonly mayBeArchived?: boolean
}

/** More than a vault can have, archived ones included. */
const maxStored = 1_000_000

/** Entries of the vault belong to a principal; an admin changes those of others. */
const asOwner = ({ caller, actor }: By, owner: string): By => ({ caller: { ...caller, principal: owner }, actor })
