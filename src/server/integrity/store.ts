import type { ClientBase } from 'pg'
import { type BoundRow, batchRowsOf, type EncryptedTable, encryptedTables } from '../db/encrypted-rows.ts'
import type { IntegrityRule } from './rules.ts'

/** A row with an encrypted value. */
export type EncryptedRow<T extends EncryptedTable> = BoundRow<T> & { readonly sealed: Buffer; readonly key_id: string }

/** Broken rows of a rule. */
export interface BrokenRows {
  readonly count: number
  /** The first of them. */
  readonly rows: readonly string[]
}

const shownRows = 3

/** Reads one state of the whole database. */
export type IntegrityStore = ReturnType<typeof integrityStore>

export function integrityStore(client: ClientBase) {
  return {
    async begin(): Promise<void> {
      await client.query('begin transaction isolation level repeatable read read only')
    },

    async end(): Promise<void> {
      await client.query('rollback')
    },

    async broken({ sql }: IntegrityRule): Promise<BrokenRows> {
      const text = `
        with broken as materialized (${sql})
        select (select count(*) from broken) as count, array(select row from broken order by row limit $1) as rows`
      const { rows } = await client.query<{ count: number; rows: string[] }>(text, [shownRows])
      return rows[0] ?? { count: 0, rows: [] }
    },

    /** Yields all encrypted values of a table, in batches of bounded size. */
    async *encrypted<T extends EncryptedTable>(table: T): AsyncGenerator<EncryptedRow<T>[]> {
      const { id, facts } = encryptedTables[table]
      const keys: readonly string[] = id
      const place = keys.map((_, at) => `($1::text[])[${at + 1}]`)
      const limit = batchRowsOf(table)
      const text = `
        select ${[...keys, ...facts].join(', ')}, version, sealed, key_id from ${table}
        where sealed is not null and ($1::text[] is null or (${keys.join(', ')}) > (${place.join(', ')}))
        order by ${keys.join(', ')} limit $2`
      for (let after: string[] | undefined; ; ) {
        const { rows } = await client.query<EncryptedRow<T>>(text, [after, limit])
        if (rows.length > 0) yield rows
        const last = rows.at(-1) as Record<string, unknown> | undefined
        if (!last || rows.length < limit) return
        after = keys.map(key => String(last[key]))
      }
    },
  }
}
