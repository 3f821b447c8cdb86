import type { Pool } from 'pg'
import { transaction } from '../db/connect.ts'
import { type RunSql, sqlOfClient } from '../db/once.ts'

/** Names an entry; an empty owner is global. */
export interface EntryName {
  readonly owner_id: string
  readonly key: string
}

/** A version of an entry: what its seal is bound to. */
export interface EntryVersion extends EntryName {
  readonly version: number
}

/** An entry as its row has it. */
export interface EntryRow extends EntryVersion {
  readonly sealed: Buffer
}

export interface ListedEntry extends EntryName {
  readonly updated_at: Date
}

interface ListOf {
  readonly owners: readonly string[]
  /** The last entry of the page before. */
  readonly after: EntryName | undefined
  readonly limit: number
}

/** Seals the value for the version that it will be. */
type SealFor = (entry: EntryVersion) => { readonly sealed: Buffer; readonly key_id: string }

/** Called in the transaction of a change, with the version before and after it; when it throws, nothing has changed. */
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

/** Table `vault_entries`: each change of an entry is a version, and only the last is kept. */
export type VaultStore = ReturnType<typeof vaultStore>

export function vaultStore(pool: Pool) {
  return {
    /** By name, an entry of the owner before a global one. */
    async list({ owners, after, limit }: ListOf): Promise<ListedEntry[]> {
      const text = `
        select owner_id, key, updated_at from vault_entries
        where owner_id = any($1) and ($2::text is null or (key, owner_id) > ($2, $3))
        order by key, owner_id limit $4`
      const values = [owners, after?.key ?? null, after?.owner_id ?? null, limit]
      return (await pool.query<ListedEntry>(text, values)).rows
    },

    /** The first of the owners that has an entry of this name. */
    async find(owners: readonly string[], key: string): Promise<EntryRow | undefined> {
      const text = `
        select owner_id, key, version, sealed from vault_entries
        where owner_id = any($1) and key = $2 order by array_position($1, owner_id) limit 1`
      return (await pool.query<EntryRow>(text, [owners, key])).rows[0]
    },

    /** Adds the entry, or makes what `seal` gives its next version. Changes of one entry queue up. */
    async set({ owner_id, key }: EntryName, seal: SealFor, onChange: OnChange): Promise<void> {
      await transaction(pool, async client => {
        const sql = sqlOfClient(client)
        for (;;) {
          const first = { owner_id, key, version: 1 }
          const { rows: inserted } = await sql(insertText, rowOf(first, seal))
          if (inserted.length > 0) return onChange(sql, undefined, first)
          const { rows } = await client.query<EntryVersion>(lockText, [owner_id, key])
          const [before] = rows
          // Deleted in between: there is room for a first version again.
          if (!before) continue
          const next = { owner_id, key, version: before.version + 1 }
          await sql(updateText, rowOf(next, seal))
          return onChange(sql, before, next)
        }
      })
    },

    /** True when there was such an entry. */
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

function rowOf(entry: EntryVersion, seal: SealFor): unknown[] {
  const { sealed, key_id } = seal(entry)
  return [entry.owner_id, entry.key, entry.version, sealed, key_id]
}
