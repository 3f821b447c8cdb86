import type { Pool } from 'pg'
import { transaction } from '../../db/connect.ts'
import { type RunSql, sqlOfClient } from '../../db/once.ts'
import type { EncryptedValue } from '../../platform/encryption.ts'

/** Columns of a recorded call that are not encrypted. */
export interface BodiesRow {
  readonly request_id: string
  readonly principal: string
  readonly api_key_id: string | null
  readonly owner_id: string | null
  /** Name that the call used. */
  readonly model: string
}

type EncryptedRow = BodiesRow & EncryptedValue & { readonly version: number }
type FoundRow = Omit<EncryptedRow, 'key_id'> & { readonly created_at: Date }

/** Calls that a caller may see. */
export interface Visible {
  /** Only calls of this owner; undefined: of any owner. */
  readonly owner: string | undefined
  /** Only calls with this key and its descendants; undefined: with any key. */
  readonly within: string | undefined
}

/** Writes an entry to the audit log, in the same transaction. */
type Note = (sql: RunSql, row: BodiesRow) => Promise<void>

const columns = 'request_id, principal, api_key_id, owner_id, model, created_at, version::float8 as version, sealed'
const named = `
  request_id = $1 and ($2::text is null or owner_id = $2)
  and ($3::text is null or exists (
    select from api_keys k where k.id = api_key_id and (k.id = $3 or k.ancestors @> array[$3])))`

/** Table `call_bodies`. */
export type BodiesStore = ReturnType<typeof bodiesStore>

export function bodiesStore(pool: Pool) {
  /** Runs a statement that returns the call, and writes the audit entry where there is one. */
  const noted = (text: string, requestId: string, { owner, within }: Visible, note: Note) =>
    transaction(pool, async client => {
      const { rows } = await client.query<FoundRow>(text, [requestId, owner, within])
      if (rows[0]) await note(sqlOfClient(client), rows[0])
      return rows[0]
    })

  return {
    /** Inserts a row. Keeps an existing row of the same request. */
    async insert({ request_id, principal, api_key_id, owner_id, model, version, sealed, key_id }: EncryptedRow) {
      const text = `
        insert into call_bodies (request_id, principal, api_key_id, owner_id, model, version, sealed, key_id)
        values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (request_id) do nothing`
      await pool.query(text, [request_id, principal, api_key_id, owner_id, model, version, sealed, key_id])
    },

    async exists(requestId: string, { owner, within }: Visible): Promise<boolean> {
      const text = `select from call_bodies where ${named}`
      return (await pool.query(text, [requestId, owner, within])).rows.length > 0
    },

    find: (requestId: string, visible: Visible, note: Note) =>
      noted(`select ${columns} from call_bodies where ${named}`, requestId, visible, note),

    remove: (requestId: string, visible: Visible, note: Note) =>
      noted(`delete from call_bodies where ${named} returning ${columns}`, requestId, visible, note),
  }
}
