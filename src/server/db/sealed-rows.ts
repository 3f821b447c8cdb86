import { createSealer, type Keyring, type Sealed } from '../platform/seal.ts'

/**
 * Every table with sealed values: the purpose of its sub-key, its primary key, and what else its seals are bound to. A
 * credential is bound to its address too, so that it opens for no other host. Answers for repeated requests
 * (`idempotency_keys`) are not among them: they live for 24 h, and a repeat of one that does not open is refused.
 */
export const sealedTables = {
  vault_entries: { purpose: 'vault entry', id: ['owner_id', 'key'], facts: [] },
  service_secrets: { purpose: 'service secret', id: ['name'], facts: [] },
  provider_credentials: { purpose: 'provider credential', id: ['id'], facts: ['provider', 'api_base'] },
  webhook_endpoint_secrets: { purpose: 'webhook endpoint secret', id: ['endpoint_id', 'id'], facts: [] },
  webhook_payloads: { purpose: 'webhook payload', id: ['agent_id', 'delivery_id'], facts: [] },
  response_contents: { purpose: 'stored response', id: ['principal', 'id'], facts: [] },
  response_cache: { purpose: 'cached response', id: ['principal', 'id'], facts: [] },
  call_bodies: { purpose: 'bodies of a call', id: ['request_id'], facts: [] },
  deployments: { purpose: 'deployment', id: ['id'], facts: [] },
  runtime_credentials: { purpose: 'runtime credential', id: ['id'], facts: ['api_base'] },
  runtime_harnesses: { purpose: 'runtime harness', id: ['alias'], facts: ['api_base'] },
} as const satisfies Record<string, { purpose: string; id: readonly string[]; facts: readonly string[] }>

export type SealedTable = keyof typeof sealedTables

const largeTables: ReadonlySet<SealedTable> = new Set([
  'webhook_payloads',
  'response_contents',
  'response_cache',
  'call_bodies',
])

/** How many rows of a table are sealed anew at a time: payloads and responses may have many MiB. */
export const batchRowsOf = (table: SealedTable): number => (largeTables.has(table) ? 8 : 100)

type BoundColumn<T extends SealedTable> = (typeof sealedTables)[T]['id' | 'facts'][number]

/** The columns that the seal of a row is bound to: a value does not open in another row, or as another version. */
export type BoundRow<T extends SealedTable> = Readonly<Record<BoundColumn<T>, string>> & { readonly version: number }

/** Seals and opens the values of one table. */
export interface RowSealer<T extends SealedTable> {
  seal(plain: string | Buffer, row: BoundRow<T>): Sealed
  /** Throws SealError. */
  open(row: BoundRow<T> & { readonly sealed: Buffer }): Buffer
}

/** Security, S11: bound are the purpose and what the row says of itself. */
export function createRowSealer<T extends SealedTable>(keyring: Keyring, table: T): RowSealer<T> {
  const { purpose, id, facts } = sealedTables[table]
  const sealer = createSealer(keyring, purpose)
  const columns: readonly string[] = [...id, ...facts, 'version']
  const bound = (row: Readonly<Record<string, unknown>>): string[] => columns.map(column => String(row[column]))
  return {
    seal: (plain, row) => sealer.seal(plain, bound(row)),
    open: row => sealer.open(row.sealed, bound(row)),
  }
}

/** The version of a row that is sealed anew. Never one that was there before, also when a row was deleted meanwhile: an old copy of a row does not open. */
export const nextVersion = (before: number | undefined): number => Math.max(Date.now(), (before ?? 0) + 1)
