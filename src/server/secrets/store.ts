import type { Pool } from 'pg'
import { transaction } from '../db/connect.ts'
import { type BoundRow, type EncryptedTable, encryptedTables } from '../db/encrypted-rows.ts'
import { type RunSql, sqlOfClient } from '../db/once.ts'
import type { EncryptedValue } from '../platform/encryption.ts'

/** Number of values in a table that an encryption key encrypts. */
export interface KeyUse {
  readonly table: EncryptedTable
  readonly key_id: string
  readonly rows: number
}

/** A row of `service_secrets`. */
export interface SecretRow {
  readonly name: string
  readonly version: number
  readonly sealed: Buffer
  readonly key_id: string
}

/** A row with its encrypted value and the columns that the value is bound to. */
export type EncryptedRow<T extends EncryptedTable> = BoundRow<T> & { readonly sealed: Buffer; readonly key_id: string }

interface BatchOf<T extends EncryptedTable> {
  /** Id of the key to encrypt with; its rows are skipped. */
  readonly currentId: string
  /** Primary key of the last row of the previous batch. */
  readonly after: readonly string[] | undefined
  readonly limit: number
  /** Re-encrypts a value; undefined leaves the row unchanged. */
  readonly reencrypt: (row: EncryptedRow<T>) => EncryptedValue | undefined
}

interface Batch {
  readonly reencrypted: number
  /** Primary key of the last row; undefined after the last batch. */
  readonly last: readonly string[] | undefined
}

const useOfTable = (table: string): string => `
  select '${table}' as table, key_id, count(*) as rows from ${table} where sealed is not null group by key_id`
const useOfAll = `${Object.keys(encryptedTables).map(useOfTable).join(' union all ')} order by 1, 2`

/** Skips locked rows: the transaction that changes them encrypts them with the current key. */
function staleText(table: EncryptedTable): string {
  const { id, facts } = encryptedTables[table]
  const place = id.map((_, at) => `($2::text[])[${at + 1}]`)
  return `
    select ${[...id, ...facts].join(', ')}, version, sealed, key_id from ${table}
    where sealed is not null and key_id <> $1 and ($2::text[] is null or (${id.join(', ')}) > (${place.join(', ')}))
    order by ${id.join(', ')} limit $3 for update skip locked`
}

/** Compares version and key again, so that a concurrent change wins. */
function reencryptText(table: EncryptedTable): string {
  const { id } = encryptedTables[table]
  const columns = [...id, 'version', 'old_key_id', 'sealed', 'key_id']
  const types = [...id.map(() => 'text'), 'bigint', 'text', 'bytea', 'text']
  return `
    update ${table} as t set sealed = n.sealed, key_id = n.key_id
    from unnest(${types.map((type, at) => `$${at + 1}::${type}[]`).join(', ')}) as n (${columns.join(', ')})
    where ${id.map(column => `t.${column} = n.${column}`).join(' and ')}
      and t.version = n.version and t.key_id = n.old_key_id`
}

/** Table `service_secrets`, and the encrypted values of every table. */
export type SecretStore = ReturnType<typeof secretStore>

export function secretStore(pool: Pool) {
  return {
    async find(name: string): Promise<SecretRow | undefined> {
      const text = 'select name, version, sealed, key_id from service_secrets where name = $1'
      return (await pool.query<SecretRow>(text, [name])).rows[0]
    },

    /** Inserts the secret unless the name exists: when several servers start together, the first wins. */
    async insert({ name, version, sealed, key_id }: SecretRow): Promise<void> {
      const text = `
        insert into service_secrets (name, version, sealed, key_id) values ($1, $2, $3, $4)
        on conflict (name) do nothing`
      await pool.query(text, [name, version, sealed, key_id])
    },

    /** Returns the encryption keys that stored values need. */
    async keyUse(): Promise<KeyUse[]> {
      return (await pool.query<KeyUse>(useOfAll)).rows
    },

    /** Deletes the values of this key in all tables, then calls `work` with their counts in the same transaction. */
    async forget(keyId: string, work: (sql: RunSql, deleted: readonly KeyUse[]) => Promise<void>): Promise<void> {
      await transaction(pool, async client => {
        const deleted: KeyUse[] = []
        for (const table of Object.keys(encryptedTables) as EncryptedTable[]) {
          const { rowCount } = await client.query(`delete from ${table} where key_id = $1`, [keyId])
          deleted.push({ table, key_id: keyId, rows: rowCount ?? 0 })
        }
        await work(sqlOfClient(client), deleted)
      })
    },

    /** Re-encrypts the next rows of a table in one transaction. */
    async reencryptBatch<T extends EncryptedTable>(
      table: T,
      { currentId, after, limit, reencrypt }: BatchOf<T>,
    ): Promise<Batch> {
      const idOf = (row: Readonly<Record<string, unknown>>) =>
        encryptedTables[table].id.map(column => String(row[column]))
      return transaction(pool, async client => {
        const { rows } = await client.query<EncryptedRow<T>>(staleText(table), [currentId, after ?? null, limit])
        const changes = rows.flatMap(row => {
          const encrypted = reencrypt(row)
          return encrypted ? [[...idOf(row), row.version, row.key_id, encrypted.sealed, encrypted.key_id]] : []
        })
        const last = rows.at(-1)
        const batch = { last: last && idOf(last) }
        if (changes.length === 0) return { ...batch, reencrypted: 0 }
        const columns = changes[0]?.map((_, at) => changes.map(change => change[at])) ?? []
        const { rowCount } = await client.query(reencryptText(table), columns)
        return { ...batch, reencrypted: rowCount ?? 0 }
      })
    },
  }
}
