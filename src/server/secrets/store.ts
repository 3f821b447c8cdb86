import type { Pool } from 'pg'
import { transaction } from '../db/connect.ts'
import { type RunSql, sqlOfClient } from '../db/once.ts'
import { type BoundRow, type SealedTable, sealedTables } from '../db/sealed-rows.ts'
import type { Sealed } from '../platform/seal.ts'

/** How many values of a table an encryption key seals. */
export interface KeyUse {
  readonly table: SealedTable
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

/** A row with a sealed value, and all that the seal is bound to. */
export type SealedRow<T extends SealedTable> = BoundRow<T> & { readonly sealed: Buffer; readonly key_id: string }

interface BatchOf<T extends SealedTable> {
  /** Rows of this key are left alone. */
  readonly currentId: string
  /** The primary key of the last row of the batch before. */
  readonly after: readonly string[] | undefined
  readonly limit: number
  /** Seals a value anew; undefined leaves the row as it is. */
  readonly reseal: (row: SealedRow<T>) => Sealed | undefined
}

interface Batch {
  /** Rows that were found and changed. */
  readonly resealed: number
  /** The primary key of the last row; undefined when none is left. */
  readonly last: readonly string[] | undefined
}

const useOfTable = (table: string): string => `
  select '${table}' as table, key_id, count(*) as rows from ${table} where sealed is not null group by key_id`
const useOfAll = `${Object.keys(sealedTables).map(useOfTable).join(' union all ')} order by 1, 2`

/** Rows that somebody is about to change are skipped: their writer seals them. */
function staleText(table: SealedTable): string {
  const { id, facts } = sealedTables[table]
  const place = id.map((_, at) => `($2::text[])[${at + 1}]`)
  return `
    select ${[...id, ...facts].join(', ')}, version, sealed, key_id from ${table}
    where sealed is not null and key_id <> $1 and ($2::text[] is null or (${id.join(', ')}) > (${place.join(', ')}))
    order by ${id.join(', ')} limit $3 for update skip locked`
}

/** Compares again what the value was sealed for, so that a change in between wins. */
function resealText(table: SealedTable): string {
  const { id } = sealedTables[table]
  const columns = [...id, 'version', 'old_key_id', 'sealed', 'key_id']
  const types = [...id.map(() => 'text'), 'bigint', 'text', 'bytea', 'text']
  return `
    update ${table} as t set sealed = n.sealed, key_id = n.key_id
    from unnest(${types.map((type, at) => `$${at + 1}::${type}[]`).join(', ')}) as n (${columns.join(', ')})
    where ${id.map(column => `t.${column} = n.${column}`).join(' and ')}
      and t.version = n.version and t.key_id = n.old_key_id`
}

/** Table `service_secrets`, and the seals of every table. */
export type SecretStore = ReturnType<typeof secretStore>

export function secretStore(pool: Pool) {
  return {
    async find(name: string): Promise<SecretRow | undefined> {
      const text = 'select name, version, sealed, key_id from service_secrets where name = $1'
      return (await pool.query<SecretRow>(text, [name])).rows[0]
    },

    /** Adds it, unless there is one of that name: of several servers that start at a time one wins. */
    async insert({ name, version, sealed, key_id }: SecretRow): Promise<void> {
      const text = `
        insert into service_secrets (name, version, sealed, key_id) values ($1, $2, $3, $4)
        on conflict (name) do nothing`
      await pool.query(text, [name, version, sealed, key_id])
    },

    /** Which encryption keys the database needs. */
    async keyUse(): Promise<KeyUse[]> {
      return (await pool.query<KeyUse>(useOfAll)).rows
    },

    /** Deletes what this key seals, in all tables, and does `work` with how much it was in the same transaction. */
    async forget(keyId: string, work: (sql: RunSql, gone: readonly KeyUse[]) => Promise<void>): Promise<void> {
      await transaction(pool, async client => {
        const gone: KeyUse[] = []
        for (const table of Object.keys(sealedTables) as SealedTable[]) {
          const { rowCount } = await client.query(`delete from ${table} where key_id = $1`, [keyId])
          gone.push({ table, key_id: keyId, rows: rowCount ?? 0 })
        }
        await work(sqlOfClient(client), gone)
      })
    },

    /** Seals the next rows of a table anew, all or none of them. */
    async resealBatch<T extends SealedTable>(
      table: T,
      { currentId, after, limit, reseal }: BatchOf<T>,
    ): Promise<Batch> {
      const idOf = (row: Readonly<Record<string, unknown>>) => sealedTables[table].id.map(column => String(row[column]))
      return transaction(pool, async client => {
        const { rows } = await client.query<SealedRow<T>>(staleText(table), [currentId, after ?? null, limit])
        const changes = rows.flatMap(row => {
          const made = reseal(row)
          return made ? [[...idOf(row), row.version, row.key_id, made.sealed, made.key_id]] : []
        })
        const last = rows.at(-1)
        const batch = { last: last && idOf(last) }
        if (changes.length === 0) return { ...batch, resealed: 0 }
        const columns = changes[0]?.map((_, at) => changes.map(change => change[at])) ?? []
        const { rowCount } = await client.query(resealText(table), columns)
        return { ...batch, resealed: rowCount ?? 0 }
      })
    },
  }
}
