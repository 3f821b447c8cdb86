import type { ManagedVault, VaultCredential } from '../../../contract/managed-vaults.ts'
import type { CredentialRow, VaultRow } from './vault-store.ts'

/** Returns a vault as an object of the dialect. */
export const toManagedVault = (row: VaultRow): ManagedVault => ({
  id: row.id,
  type: 'vault',
  display_name: row.display_name,
  metadata: row.metadata,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
  archived_at: row.archived_at?.toISOString() ?? null,
})

/** Returns a credential as an object of the dialect, without its secret. */
export const toCredential = (row: CredentialRow): VaultCredential => ({
  id: row.id,
  type: 'vault_credential',
  vault_id: row.vault_id,
  display_name: row.display_name,
  auth: authOf(row),
  metadata: row.metadata,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
  archived_at: row.archived_at?.toISOString() ?? null,
})

const authOf = ({ type, mcp_server_url, expires_at }: CredentialRow): VaultCredential['auth'] =>
  type === 'static_bearer'
    ? { type, mcp_server_url }
    : { type, mcp_server_url, expires_at: expires_at?.toISOString() ?? null, refresh: null }
