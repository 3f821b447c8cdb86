import type { Pool, PoolClient } from 'pg'
import type { CreatedRange } from '../http/created-range.ts'
import type { MetadataMap } from '../platform/metadata.ts'

export interface StoreFields {
  readonly name: string
  readonly description: string
  readonly metadata: MetadataMap
}

export interface StoreRow extends StoreFields {
  readonly id: string
  readonly owner_id: string
  readonly archived_at: Date | null
  readonly created_at: Date
  readonly updated_at: Date
}

/** What a memory contains, and the id of this version. */
export interface MemoryVersion {
  readonly version_id: string
  readonly path: string
  readonly content: string
  /** Hash of the content, in hexadecimal digits. */
  readonly sha256: string
  readonly bytes: number
}

export interface MemoryRow extends MemoryVersion {
  readonly id: string
  readonly store_id: string
  readonly created_at: Date
  readonly updated_at: Date
}

/** A store as a session has it. */
export interface Attachment {
  readonly id: string
  readonly store_id: string
  readonly access: 'read_write' | 'read_only'
  readonly name: string
  readonly description: string
  readonly instructions: string | null
  readonly mount_path: string
}

/** A store of a session, with what decides whether it can be changed. */
export interface AttachedStore extends Attachment {
  readonly owner_id: string
  readonly is_archived: boolean
}

interface StoreQuery extends CreatedRange {
  readonly withArchived: boolean
  readonly after: string | undefined
  readonly limit: number
}

interface MemoryQuery {
  readonly prefix: string
  /** Path of the last memory of the previous page. */
  readonly after: string | undefined
  readonly limit: number
}

const storeColumns = 'id, owner_id, name, description, metadata, archived_at, created_at, updated_at'
const columns = 'id, store_id, version_id, path, content, sha256, bytes, created_at, updated_at'
const attachmentColumns = 'id, store_id, access, name, description, instructions, mount_path'
const isOfOwner = 'id = $1 and ($2::text is null or owner_id = $2)'

/** A deleted store is no longer attached. */
const attachedText = `
  select a.id, a.store_id, a.access, a.name, a.description, a.instructions, a.mount_path,
         m.owner_id, m.archived_at is not null as is_archived
  from session_memory_stores a join memory_stores m on m.id = a.store_id
  where a.session_id = $1 order by a.id`

/** Tables `memory_stores`, `stored_memories` and `session_memory_stores`. */
export type StoredMemoryStore = ReturnType<typeof storedMemoryStore>

export function storedMemoryStore(pool: Pool) {
  async function changed<Row extends object>(on: PoolClient, text: string, values: readonly unknown[]): Promise<Row> {
    const { rows } = await on.query<Row>(text, [...values])
    if (!rows[0]) throw new Error('memory store is missing although its row is locked (bug)')
    return rows[0]
  }

  return {
    /** Returns the store; undefined when `owner` has none with that id. An undefined owner matches all. */
    async find(id: string, owner: string | undefined): Promise<StoreRow | undefined> {
      const text = `select ${storeColumns} from memory_stores where ${isOfOwner}`
      return (await pool.query<StoreRow>(text, [id, owner])).rows[0]
    },

    /** Like `find`, and locks the row until the end of the transaction. */
    async lock(on: PoolClient, id: string, owner: string | undefined): Promise<StoreRow | undefined> {
      const text = `select ${storeColumns} from memory_stores where ${isOfOwner} for update`
      return (await on.query<StoreRow>(text, [id, owner])).rows[0]
    },

    /** Newest first. */
    async list(owner: string | undefined, query: StoreQuery): Promise<StoreRow[]> {
      const { withArchived, from, before, after, limit } = query
      const text = `
        select ${storeColumns} from memory_stores
        where ($1::text is null or owner_id = $1) and ($2 or archived_at is null)
          and ($3::timestamptz is null or created_at >= $3) and ($4::timestamptz is null or created_at < $4)
          and ($5::text is null or id < $5)
        order by id desc limit $6`
      return (await pool.query<StoreRow>(text, [owner, withArchived, from, before, after, limit])).rows
    },

    insert: (on: PoolClient, id: string, owner: string, { name, description, metadata }: StoreFields) =>
      changed<StoreRow>(
        on,
        `insert into memory_stores (id, owner_id, name, description, metadata) values ($1, $2, $3, $4, $5)
         returning ${storeColumns}`,
        [id, owner, name, description, JSON.stringify(metadata)],
      ),

    update: (on: PoolClient, id: string, { name, description, metadata }: StoreFields) =>
      changed<StoreRow>(
        on,
        `update memory_stores set name = $2, description = $3, metadata = $4, updated_at = clock_timestamp()
         where id = $1 returning ${storeColumns}`,
        [id, name, description, JSON.stringify(metadata)],
      ),

    archive: (on: PoolClient, id: string) =>
      changed<StoreRow>(
        on,
        `update memory_stores set archived_at = clock_timestamp(), updated_at = clock_timestamp() where id = $1
         returning ${storeColumns}`,
        [id],
      ),

    async remove(on: PoolClient, id: string): Promise<void> {
      await on.query('delete from session_memory_stores where store_id = $1', [id])
      await on.query('delete from memory_stores where id = $1', [id])
    },

    async memory(storeId: string, id: string, on: Pick<Pool, 'query'> = pool): Promise<MemoryRow | undefined> {
      const text = `select ${columns} from stored_memories where store_id = $1 and id = $2`
      return (await on.query<MemoryRow>(text, [storeId, id])).rows[0]
    },

    async memoryAt(storeId: string, path: string, on: Pick<Pool, 'query'> = pool): Promise<MemoryRow | undefined> {
      const text = `select ${columns} from stored_memories where store_id = $1 and path = $2`
      return (await on.query<MemoryRow>(text, [storeId, path])).rows[0]
    },

    /** Returns memories below a prefix, by path. */
    async memories(storeId: string, { prefix, after, limit }: MemoryQuery): Promise<MemoryRow[]> {
      const text = `
        select ${columns} from stored_memories
        where store_id = $1 and starts_with(path, $2) and ($3::text is null or path > $3) order by path limit $4`
      return (await pool.query<MemoryRow>(text, [storeId, prefix, after, limit])).rows
    },

    async count(on: PoolClient, storeId: string): Promise<number> {
      const text = 'select count(*)::int as count from stored_memories where store_id = $1'
      return (await on.query<{ count: number }>(text, [storeId])).rows[0]?.count ?? 0
    },

    insertMemory: (on: PoolClient, storeId: string, id: string, version: MemoryVersion) =>
      changed<MemoryRow>(
        on,
        `insert into stored_memories (id, store_id, version_id, path, content, sha256, bytes)
         values ($1, $2, $3, $4, $5, $6, $7) returning ${columns}`,
        [id, storeId, ...valuesOf(version)],
      ),

    updateMemory: (on: PoolClient, id: string, version: MemoryVersion) =>
      changed<MemoryRow>(
        on,
        `update stored_memories
         set version_id = $2, path = $3, content = $4, sha256 = $5, bytes = $6, updated_at = clock_timestamp()
         where id = $1 returning ${columns}`,
        [id, ...valuesOf(version)],
      ),

    async removeMemory(on: PoolClient, id: string): Promise<void> {
      await on.query('delete from stored_memories where id = $1', [id])
    },

    /** Gives a session stores. */
    async attach(on: PoolClient, sessionId: string, attachments: readonly Attachment[]): Promise<void> {
      const text = `
        insert into session_memory_stores (session_id, ${attachmentColumns}) values ($1, $2, $3, $4, $5, $6, $7, $8)`
      for (const { id, store_id, access, name, description, instructions, mount_path } of attachments)
        await on.query(text, [sessionId, id, store_id, access, name, description, instructions, mount_path])
    },

    /** Returns the stores of a session that still exist, in order. */
    async attached(sessionId: string): Promise<AttachedStore[]> {
      return (await pool.query<AttachedStore>(attachedText, [sessionId])).rows
    },
  }
}

const valuesOf = ({ version_id, path, content, sha256, bytes }: MemoryVersion): unknown[] => [
  version_id,
  path,
  content,
  sha256,
  bytes,
]
