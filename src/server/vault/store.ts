import type { Pool } from 'pg'
import { transaction } from '../db/connect.ts'
import { type RunSql, sqlOfClient } from '../db/once.ts'

/** Names an entry; an empty owner is global. */
export interface EntryName {
  readonly owner_id: string
  readonly key: string
}

/** A version of an entry. Its encrypted value is bound to these columns. */
export interface EntryVersion extends EntryName {
  readonly version: number
}

export interface EntryRow extends EntryVersion {
  readonly sealed: Buffer
  /** True when its use was not recorded in the last minute. */
  readonly is_use_due: boolean
}

export interface ListedEntry extends EntryName {
  readonly created_at: Date
  readonly updated_at: Date
  readonly last_used_at: Date | null
}

interface ListOf {
  readonly owners: readonly string[]
  /** Last entry of the previous page. */
  readonly after: EntryName | undefined
  readonly limit: number
}

/** Encrypts the value for the given version. */
type EncryptFor = (entry: EntryVersion) => { readonly sealed: Buffer; readonly key_id: string }

/**
 * Called in the transaction of a change, with the version before and after it. When it throws, the change rolls back.
 */
export type OnChange = (sql: RunSql, before: EntryVersion | undefined, after: EntryVersion | undefined) => Promise<void>

const insertText = `
  insert into vault_entries (owner_id, key, version, sealed, key_id) values ($1, $2, $3, $4, $5)
  on conflict (owner_id, key) do nothing
  returning version`
const lockText = 'select owner_id, key, version from vault_entries where owner_id = $1 and key = $2 for update'
const updateText = `
  update vault_entries set version = $3, sealed = $4, key_id = $5, updated_at = clock_timestamp()
  where owner_id = $1 and key = $2`
const deleteText = 'delete from vault_entries where owner_id = $1 and key = $2 returning owner_id, key, version'

/** Table `vault_entries`: each change of an entry increments its version; only the last version is stored. */
export type VaultStore = ReturnType<typeof vaultStore>

export function vaultStore(pool: Pool) {
  return {
    /** Returns entries ordered by name; of one name, the owner's entry comes after the global one. */
    async list({ owners, after, limit }: ListOf): Promise<ListedEntry[]> {
      const text = `
        select owner_id, key, created_at, updated_at, last_used_at from vault_entries
        where owner_id = any($1) and ($2::text is null or (key, owner_id) > ($2, $3))
        order by key, owner_id limit $4`
      const values = [owners, after?.key ?? null, after?.owner_id ?? null, limit]
      return (await pool.query<ListedEntry>(text, values)).rows
    },

    /** Returns the entry of the first owner that has one of this name. */
    async find(owners: readonly string[], key: string): Promise<EntryRow | undefined> {
      const text = `
        select owner_id, key, version, sealed,
               coalesce(last_used_at < clock_timestamp() - interval '1 minute', true) as is_use_due
        from vault_entries
        where owner_id = any($1) and key = $2 order by array_position($1, owner_id) limit 1`
      return (await pool.query<EntryRow>(text, [owners, key])).rows[0]
    },

    /** Returns the entry of that owner without its value. */
    async listed({ owner_id, key }: EntryName): Promise<ListedEntry | undefined> {
      const text = `
        select owner_id, key, created_at, updated_at, last_used_at from vault_entries where owner_id = $1 and key = $2`
      return (await pool.query<ListedEntry>(text, [owner_id, key])).rows[0]
    },

    /** Records the use of an entry, at most once a minute. */
    async used({ owner_id, key }: EntryName): Promise<void> {
      const text = `
        update vault_entries set last_used_at = clock_timestamp()
        where owner_id = $1 and key = $2 and (last_used_at is null or last_used_at < clock_timestamp() - interval '1 minute')`
      await pool.query({ name: 'vault_used', text, values: [owner_id, key] })
    },

    /**
     * Inserts the entry, or stores the value as its next version. Concurrent changes of one entry run one after
     * another.
     */
    async set({ owner_id, key }: EntryName, encrypt: EncryptFor, onChange: OnChange): Promise<void> {
      await transaction(pool, async client => {
        const sql = sqlOfClient(client)
        for (;;) {
          const first = { owner_id, key, version: 1 }
          const { rows: inserted } = await sql(insertText, rowOf(first, encrypt))
          if (inserted.length > 0) return onChange(sql, undefined, first)
          const { rows } = await client.query<EntryVersion>(lockText, [owner_id, key])
          const [before] = rows
          // Deleted since the insert: insert it again.
          if (!before) continue
          const next = { owner_id, key, version: before.version + 1 }
          await sql(updateText, rowOf(next, encrypt))
          return onChange(sql, before, next)
        }
      })
    },

    /** Returns whether the entry existed. */
    async remove({ owner_id, key }: EntryName, onChange: OnChange): Promise<boolean> {
      return transaction(pool, async client => {
        const sql = sqlOfClient(client)
        const { rows } = await client.query<EntryVersion>(deleteText, [owner_id, key])
        if (!rows[0]) return false
        await onChange(sql, rows[0], undefined)
        return true
      })
    },
  }
}

function rowOf(entry: EntryVersion, encrypt: EncryptFor): unknown[] {
  const { sealed, key_id } = encrypt(entry)
  return [entry.owner_id, entry.key, entry.version, sealed, key_id]
}
