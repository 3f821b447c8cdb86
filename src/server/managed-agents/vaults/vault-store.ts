import type { Pool, PoolClient } from 'pg'
import type { MetadataMap } from '../../platform/metadata.ts'

export interface VaultRow {
  readonly id: string
  readonly owner_id: string
  readonly display_name: string
  readonly metadata: MetadataMap
  readonly archived_at: Date | null
  readonly created_at: Date
  readonly updated_at: Date
}

/** Fields of a credential that callers set. */
export interface CredentialFields {
  readonly display_name: string | null
  readonly expires_at: Date | null
  readonly metadata: MetadataMap
}

export interface CredentialRow extends CredentialFields {
  readonly id: string
  readonly vault_id: string
  readonly type: 'static_bearer' | 'mcp_oauth'
  readonly mcp_server_url: string
  readonly archived_at: Date | null
  readonly created_at: Date
  readonly updated_at: Date
}

interface ListOf {
  readonly withArchived: boolean
  readonly after: string | undefined
  readonly limit: number
}

const vaultColumns = 'id, owner_id, display_name, metadata, archived_at, created_at, updated_at'
const columns =
  'id, vault_id, display_name, type, mcp_server_url, expires_at, metadata, archived_at, created_at, updated_at'

const isOfOwner = 'id = $1 and ($2::text is null or owner_id = $2)'

/** The first vault of the session with a credential for the address counts. */
const forSessionText = `
  select c.id, v.owner_id from sessions s
  join dialect_sessions d on d.session_id = s.id or d.session_id = any (s.ancestors)
  join sessions named on named.id = d.session_id and named.owner_id = s.owner_id
  join managed_vaults v on v.id = any (d.vault_ids) and v.archived_at is null
  join vault_credentials c on c.vault_id = v.id and c.archived_at is null and c.mcp_server_url = $2
  where s.id = $1
  order by d.session_id = s.id desc, array_position(d.vault_ids, v.id) limit 1`

/** Tables `managed_vaults` and `vault_credentials`. */
export type ManagedVaultStore = ReturnType<typeof managedVaultStore>

export function managedVaultStore(pool: Pool) {
  async function changed<Row extends object>(on: PoolClient, text: string, values: readonly unknown[]): Promise<Row> {
    const { rows } = await on.query<Row>(text, [...values])
    if (!rows[0]) throw new Error('vault is missing although its row is locked (bug)')
    return rows[0]
  }

  return {
    /** Returns the vault; undefined when `owner` has none with that id. An undefined owner matches all. */
    async find(id: string, owner: string | undefined): Promise<VaultRow | undefined> {
      const text = `select ${vaultColumns} from managed_vaults where ${isOfOwner}`
      return (await pool.query<VaultRow>(text, [id, owner])).rows[0]
    },

    /** Like `find`, and locks the row until the end of the transaction. */
    async lock(on: PoolClient, id: string, owner: string | undefined): Promise<VaultRow | undefined> {
      const text = `select ${vaultColumns} from managed_vaults where ${isOfOwner} for update`
      return (await on.query<VaultRow>(text, [id, owner])).rows[0]
    },

    /** Newest first. */
    async list(owner: string | undefined, { withArchived, after, limit }: ListOf): Promise<VaultRow[]> {
      const text = `
        select ${vaultColumns} from managed_vaults
        where ($1::text is null or owner_id = $1) and ($2 or archived_at is null) and ($3::text is null or id < $3)
        order by id desc limit $4`
      return (await pool.query<VaultRow>(text, [owner, withArchived, after, limit])).rows
    },

    insert: (on: PoolClient, vault: Pick<VaultRow, 'id' | 'owner_id' | 'display_name' | 'metadata'>) =>
      changed<VaultRow>(
        on,
        `insert into managed_vaults (id, owner_id, display_name, metadata) values ($1, $2, $3, $4) returning ${vaultColumns}`,
        [vault.id, vault.owner_id, vault.display_name, JSON.stringify(vault.metadata)],
      ),

    update: (on: PoolClient, id: string, { display_name, metadata }: Pick<VaultRow, 'display_name' | 'metadata'>) =>
      changed<VaultRow>(
        on,
        `update managed_vaults set display_name = $2, metadata = $3, updated_at = clock_timestamp() where id = $1
         returning ${vaultColumns}`,
        [id, display_name, JSON.stringify(metadata)],
      ),

    archive: (on: PoolClient, id: string) =>
      changed<VaultRow>(
        on,
        `update managed_vaults set archived_at = clock_timestamp(), updated_at = clock_timestamp() where id = $1
         returning ${vaultColumns}`,
        [id],
      ),

    async remove(on: PoolClient, id: string): Promise<void> {
      await on.query('delete from managed_vaults where id = $1', [id])
    },

    async credential(vaultId: string, id: string, on: Pick<Pool, 'query'> = pool): Promise<CredentialRow | undefined> {
      const text = `select ${columns} from vault_credentials where vault_id = $1 and id = $2`
      return (await on.query<CredentialRow>(text, [vaultId, id])).rows[0]
    },

    /** Newest first. */
    async credentials(
      vaultId: string,
      { withArchived, after, limit }: ListOf,
      on: Pick<Pool, 'query'> = pool,
    ): Promise<CredentialRow[]> {
      const text = `
        select ${columns} from vault_credentials
        where vault_id = $1 and ($2 or archived_at is null) and ($3::text is null or id < $3) order by id desc limit $4`
      return (await on.query<CredentialRow>(text, [vaultId, withArchived, after, limit])).rows
    },

    insertCredential: (
      on: PoolClient,
      given: CredentialFields & Pick<CredentialRow, 'id' | 'vault_id' | 'type' | 'mcp_server_url'>,
    ) =>
      changed<CredentialRow>(
        on,
        `insert into vault_credentials (id, vault_id, type, mcp_server_url, display_name, expires_at, metadata)
         values ($1, $2, $3, $4, $5, $6, $7) returning ${columns}`,
        [given.id, given.vault_id, given.type, given.mcp_server_url, ...valuesOf(given)],
      ),

    updateCredential: (on: PoolClient, id: string, fields: CredentialFields) =>
      changed<CredentialRow>(
        on,
        `update vault_credentials set display_name = $2, expires_at = $3, metadata = $4, updated_at = clock_timestamp()
         where id = $1 returning ${columns}`,
        [id, ...valuesOf(fields)],
      ),

    /** Archives the given credentials. */
    async archiveCredentials(on: PoolClient, ids: readonly string[]): Promise<void> {
      const text = `
        update vault_credentials set archived_at = clock_timestamp(), updated_at = clock_timestamp()
        where id = any ($1) and archived_at is null`
      await on.query(text, [ids])
    },

    async removeCredential(on: PoolClient, id: string): Promise<void> {
      await on.query('delete from vault_credentials where id = $1', [id])
    },

    /** Returns the credential of a session, or of one above it with the same owner, for the address of a server. */
    async forSession(sessionId: string, url: string): Promise<{ id: string; owner_id: string } | undefined> {
      const values = [sessionId, url]
      return (await pool.query<{ id: string; owner_id: string }>(forSessionText, values)).rows[0]
    },

    /** Returns those of the vaults that exist and belong to `owner`; an undefined owner matches all. */
    async among(ids: readonly string[], owner: string | undefined): Promise<VaultRow[]> {
      const text = `select ${vaultColumns} from managed_vaults where id = any ($1) and ($2::text is null or owner_id = $2)`
      return (await pool.query<VaultRow>(text, [ids, owner])).rows
    },
  }
}

const valuesOf = ({ display_name, expires_at, metadata }: CredentialFields): unknown[] => [
  display_name,
  expires_at,
  JSON.stringify(metadata),
]
