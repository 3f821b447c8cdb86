import type { Pool, PoolClient } from 'pg'
import { maxMemoryVersions, memoryVersionDays } from '../../contract/memory-versions.ts'
import type { CreatedRange } from '../http/created-range.ts'
import type { MemoryRow } from './store.ts'

export type Operation = 'created' | 'modified' | 'deleted'

/** Who makes a change: a caller with a key, or the agent of a session. Both null: not recorded. */
export interface Author {
  readonly key_id: string | null
  readonly session_id: string | null
}

/** One change of a memory. */
export interface VersionRow extends Author {
  readonly id: string
  readonly store_id: string
  readonly memory_id: string
  readonly operation: Operation
  readonly path: string | null
  readonly content: string | null
  readonly sha256: string | null
  readonly bytes: number | null
  readonly created_at: Date
  readonly redacted_at: Date | null
  /** A key, as in `key_id`. */
  readonly redacted_by: string | null
}

export interface VersionQuery extends CreatedRange {
  readonly memoryId: string | undefined
  readonly operation: Operation | undefined
  readonly keyId: string | undefined
  readonly sessionId: string | undefined
  /** Id of the last version of the previous page. */
  readonly after: string | undefined
  readonly limit: number
}

const columns = `id, store_id, memory_id, operation, path, content, sha256, bytes, key_id, session_id, created_at,
  redacted_at, redacted_by`

const insertText = `
  insert into memory_versions (store_id, memory_id, id, operation, path, content, sha256, bytes, key_id, session_id)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`

const deleteOldText = `
  delete from memory_versions v
  where v.store_id = $1 and v.created_at < clock_timestamp() - interval '${memoryVersionDays} days'
    and not exists (select from stored_memories m where m.id = v.memory_id and m.version_id = v.id)`
const deleteManyText = `
  delete from memory_versions where id in (
    select id from memory_versions where memory_id = $1 order by id desc offset ${maxMemoryVersions})`

/** Table `memory_versions`: one row per change of a memory. */
export type MemoryVersionStore = ReturnType<typeof memoryVersionStore>

export function memoryVersionStore(pool: Pool) {
  /** Adds a version and deletes those that are not kept any more. */
  async function insert(on: PoolClient, storeId: string, memoryId: string, values: readonly unknown[]): Promise<void> {
    await on.query(insertText, [storeId, memoryId, ...values])
    await on.query(deleteOldText, [storeId])
    await on.query(deleteManyText, [memoryId])
  }

  return {
    /** Adds the version of a memory that was created or changed. */
    async add(on: PoolClient, row: MemoryRow, operation: 'created' | 'modified', author: Author): Promise<void> {
      const { version_id, store_id, id, path, content, sha256, bytes } = row
      const values = [version_id, operation, path, content, sha256, bytes, author.key_id, author.session_id]
      await insert(on, store_id, id, values)
    },

    /** Adds the deletion of a memory. */
    async addDeletion(on: PoolClient, versionId: string, { store_id, id, path }: MemoryRow, author: Author) {
      await insert(on, store_id, id, [versionId, 'deleted', path, null, null, null, author.key_id, author.session_id])
    },

    async find(storeId: string, id: string, on: Pick<Pool, 'query'> = pool): Promise<VersionRow | undefined> {
      const text = `select ${columns} from memory_versions where store_id = $1 and id = $2`
      return (await on.query<VersionRow>(text, [storeId, id])).rows[0]
    },

    /** Newest first. */
    async list(storeId: string, query: VersionQuery): Promise<VersionRow[]> {
      const { memoryId, operation, keyId, sessionId, from, before, after, limit } = query
      const text = `
        select ${columns} from memory_versions
        where store_id = $1 and ($2::text is null or memory_id = $2) and ($3::text is null or operation = $3)
          and ($4::text is null or key_id = $4) and ($5::text is null or session_id = $5)
          and ($6::timestamptz is null or created_at >= $6) and ($7::timestamptz is null or created_at < $7)
          and ($8::text is null or id < $8)
        order by id desc limit $9`
      const values = [storeId, memoryId, operation, keyId, sessionId, from, before, after, limit]
      return (await pool.query<VersionRow>(text, values)).rows
    },

    /** Removes what a version contains, unless that is done. Its store is locked. */
    async redact(on: PoolClient, id: string, keyId: string): Promise<VersionRow> {
      const text = `
        update memory_versions
        set path = null, content = null, sha256 = null, bytes = null,
            redacted_at = coalesce(redacted_at, clock_timestamp()), redacted_by = coalesce(redacted_by, $2)
        where id = $1 returning ${columns}`
      const [row] = (await on.query<VersionRow>(text, [id, keyId])).rows
      if (!row) throw new Error('memory version is missing although its store is locked (bug)')
      return row
    },
  }
}
