import { createValueCipher, type EncryptedValue, type Keyring } from '../platform/encryption.ts'

/**
 * Every table with encrypted values: the purpose of its sub-key, its primary key, and the further columns that its
 * values are bound to. A credential is also bound to its address, so that it cannot be decrypted for another host.
 * Stored answers to repeated requests (`idempotency_keys`) are not listed: they live for 24 h, and a repeat whose
 * answer cannot be decrypted is rejected.
 */
export const encryptedTables = {
  vault_entries: { purpose: 'vault entry', id: ['owner_id', 'key'], facts: [] },
  service_secrets: { purpose: 'service secret', id: ['name'], facts: [] },
  provider_credentials: { purpose: 'provider credential', id: ['id'], facts: ['provider', 'api_base'] },
  webhook_endpoint_secrets: { purpose: 'webhook endpoint secret', id: ['endpoint_id', 'id'], facts: [] },
  webhook_payloads: { purpose: 'webhook payload', id: ['agent_id', 'delivery_id'], facts: [] },
  response_contents: { purpose: 'stored response', id: ['principal', 'id'], facts: [] },
  background_responses: { purpose: 'request of a background response', id: ['principal', 'id'], facts: [] },
  background_events: { purpose: 'events of a background response', id: ['principal', 'id', 'place'], facts: [] },
  response_cache: { purpose: 'cached response', id: ['principal', 'id'], facts: [] },
  call_bodies: { purpose: 'bodies of a call', id: ['request_id'], facts: [] },
  deployments: { purpose: 'deployment', id: ['id'], facts: [] },
  runtime_credentials: { purpose: 'runtime credential', id: ['id'], facts: ['api_base'] },
  mcp_servers: { purpose: 'MCP server credential', id: ['server_id'], facts: ['url'] },
  mcp_authorizations: {
    purpose: 'login at an MCP server',
    id: ['state_hash'],
    facts: ['server_id', 'principal', 'url'],
  },
  mcp_logins: { purpose: 'tokens of an MCP server', id: ['server_id', 'principal'], facts: ['url'] },
  a2a_push_configs: { purpose: 'push notification config', id: ['task_id', 'id'], facts: ['url'] },
  runtime_harnesses: { purpose: 'runtime harness', id: ['alias'], facts: ['api_base'] },
} as const satisfies Record<string, { purpose: string; id: readonly string[]; facts: readonly string[] }>

export type EncryptedTable = keyof typeof encryptedTables

const largeTables: ReadonlySet<EncryptedTable> = new Set([
  'webhook_payloads',
  'response_contents',
  'background_responses',
  'response_cache',
  'call_bodies',
])

/** Returns how many rows of a table one batch re-encrypts: payloads and responses may have many MiB. */
export const batchRowsOf = (table: EncryptedTable): number => (largeTables.has(table) ? 8 : 100)

type BoundColumn<T extends EncryptedTable> = (typeof encryptedTables)[T]['id' | 'facts'][number]

/** Columns that the encrypted value of a row is bound to: it cannot be decrypted in another row or version. */
export type BoundRow<T extends EncryptedTable> = Readonly<Record<BoundColumn<T>, string>> & { readonly version: number }

/** Encrypts and decrypts the values of one table. */
export interface RowCipher<T extends EncryptedTable> {
  encrypt(plain: string | Buffer, row: BoundRow<T>): EncryptedValue
  /** Throws DecryptionError. */
  decrypt(row: BoundRow<T> & { readonly sealed: Buffer }): Buffer
}

/** Returns the cipher of `table`. It binds each value to the purpose and to the row's columns. Security: S11. */
export function createRowCipher<T extends EncryptedTable>(keyring: Keyring, table: T): RowCipher<T> {
  const { purpose, id, facts } = encryptedTables[table]
  const cipher = createValueCipher(keyring, purpose)
  const columns: readonly string[] = [...id, ...facts, 'version']
  const bound = (row: Readonly<Record<string, unknown>>): string[] => columns.map(column => String(row[column]))
  return {
    encrypt: (plain, row) => cipher.encrypt(plain, bound(row)),
    decrypt: row => cipher.decrypt(row.sealed, bound(row)),
  }
}

/**
 * Returns the version of a row that is written again. It was never used before, even when the row was deleted
 * meanwhile, so that an old copy of the row cannot be decrypted.
 */
export const nextVersion = (before: number | undefined): number => Math.max(Date.now(), (before ?? 0) + 1)
