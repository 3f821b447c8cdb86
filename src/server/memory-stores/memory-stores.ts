import { createHash } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import {
  type MemoryStoreCreate,
  type MemoryStoreObject,
  type MemoryStoreUpdate,
  maxStoredMemories,
  maxStoredMemoryBytes,
  type StoredMemory,
  type StoredMemoryCreate,
  type StoredMemoryUpdate,
} from '../../contract/memory-stores.ts'
import type { Audit } from '../audit/audit.ts'
import { transaction } from '../db/connect.ts'
import { once, sqlOfClient } from '../db/once.ts'
import type { Actor, By, Caller } from '../http/caller.ts'
import type { Idempotency } from '../http/idempotency.ts'
import { AppError, invalid, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { patched } from '../platform/metadata.ts'
import { checkMemoryPath } from './memory-path.ts'
import type { MemoryRow, MemoryVersion, StoredMemoryStore, StoreRow } from './store.ts'

interface Deps {
  readonly pool: Pool
  readonly store: StoredMemoryStore
  readonly audit: Audit
}

type View = 'basic' | 'full'

interface MemoryPage {
  readonly prefix: string
  readonly view: View
  readonly after: string | undefined
  readonly limit: number
}

/** Memory stores: each belongs to its creator, and an archived one cannot be changed. */
export type MemoryStores = ReturnType<typeof createMemoryStores>

export function createMemoryStores({ pool, store, audit }: Deps) {
  async function found(id: string, caller: Caller): Promise<StoreRow> {
    const row = await store.find(id, caller.ownerScope)
    if (!row) throw notFound('memory store', id)
    return row
  }

  /** Runs `work` with the store locked, and records the change in the audit log. */
  async function change<Result>(of: Change, work: (client: PoolClient, row: StoreRow) => Promise<Result>) {
    return transaction(pool, async client => {
      const row = await store.lock(client, of.id, of.owner)
      if (!row) throw notFound('memory store', of.id)
      if (row.archived_at && !of.mayBeArchived) throw invalid(`memory store ${of.id} is archived and cannot be changed`)
      const result = await work(client, row)
      const { actor, action } = of
      const fields = { objectId: of.id, ownerId: row.owner_id, after: { name: row.name, ...of.facts } }
      await audit.record(sqlOfClient(client), { actor, action: `memory_store.${action}`, ...fields })
      return result
    })
  }

  const changeOf = (id: string, action: string, { caller, actor }: By): Change => ({
    id,
    action,
    actor,
    owner: caller.ownerScope,
  })

  async function insert(client: PoolClient, storeId: string, path: string, content: string): Promise<MemoryRow> {
    if (await store.memoryAt(storeId, path, client)) throw pathTaken(path)
    if ((await store.count(client, storeId)) >= maxStoredMemories)
      throw invalid(`memory store ${storeId} has ${maxStoredMemories} memories, the maximum; delete some`)
    return store.insertMemory(client, storeId, newId('mem'), versionOf(path, content))
  }

  return {
    get: async (id: string, caller: Caller): Promise<MemoryStoreObject> => toObject(await found(id, caller)),

    list: async (query: Parameters<StoredMemoryStore['list']>[1], caller: Caller): Promise<MemoryStoreObject[]> =>
      (await store.list(caller.ownerScope, query)).map(toObject),

    create: (body: MemoryStoreCreate, { caller, actor }: By, idempotency: Idempotency | undefined) =>
      transaction(pool, client =>
        once(sqlOfClient(client), idempotency, async (): Promise<MemoryStoreObject> => {
          const { name, description = '', metadata = {} } = body
          const fields = { name, description, metadata }
          const row = await store.insert(client, newId('memstore'), caller.principal, fields)
          const after = { objectId: row.id, ownerId: row.owner_id, after: { name } }
          await audit.record(sqlOfClient(client), { actor, action: 'memory_store.create', ...after })
          return toObject(row)
        }),
      ),

    update: (id: string, body: MemoryStoreUpdate, by: By): Promise<MemoryStoreObject> =>
      change(changeOf(id, 'update', by), async (client, before) =>
        toObject(
          await store.update(client, id, {
            name: body.name ?? before.name,
            description: body.description === undefined ? before.description : (body.description ?? ''),
            metadata: patched(before.metadata, body.metadata),
          }),
        ),
      ),

    archive: (id: string, by: By): Promise<MemoryStoreObject> =>
      change({ ...changeOf(id, 'archive', by), mayBeArchived: true }, async (client, before) =>
        toObject(before.archived_at ? before : await store.archive(client, id)),
      ),

    remove: (id: string, by: By): Promise<void> =>
      change({ ...changeOf(id, 'delete', by), mayBeArchived: true }, client => store.remove(client, id)),

    async memories(id: string, { view, ...page }: MemoryPage, caller: Caller): Promise<StoredMemory[]> {
      await found(id, caller)
      return (await store.memories(id, page)).map(row => toMemory(row, view))
    },

    async memory(id: string, memoryId: string, view: View, caller: Caller): Promise<StoredMemory> {
      await found(id, caller)
      const row = await store.memory(id, memoryId)
      if (!row) throw notFound('memory', memoryId)
      return toMemory(row, view)
    },

    async createMemory(id: string, { path, content }: StoredMemoryCreate, view: View, by: By): Promise<StoredMemory> {
      checkMemoryPath(path, 'path')
      const text = checkedContent(content ?? '', 'content')
      const of = { ...changeOf(id, 'create_memory', by), facts: { path } }
      return toMemory(await change(of, client => insert(client, id, path, text)), view)
    },

    async updateMemory(id: string, memoryId: string, body: StoredMemoryUpdate, { view, ...by }: By & { view: View }) {
      if (body.path) checkMemoryPath(body.path, 'path')
      if (typeof body.content === 'string') checkedContent(body.content, 'content')
      const of = { ...changeOf(id, 'update_memory', by), facts: { memory_id: memoryId } }
      const row = await change(of, async client => {
        const before = await store.memory(id, memoryId, client)
        if (!before) throw notFound('memory', memoryId)
        checkHash(before, body.precondition?.content_sha256, 'precondition.content_sha256')
        const path = body.path ?? before.path
        if (path !== before.path && (await store.memoryAt(id, path, client))) throw pathTaken(path)
        return store.updateMemory(client, memoryId, versionOf(path, body.content ?? before.content))
      })
      return toMemory(row, view)
    },

    async removeMemory(id: string, memoryId: string, expected: string | undefined, by: By): Promise<void> {
      const facts = { memory_id: memoryId }
      await change({ ...changeOf(id, 'delete_memory', by), facts, mayBeArchived: true }, async client => {
        const before = await store.memory(id, memoryId, client)
        if (!before) throw notFound('memory', memoryId)
        checkHash(before, expected, 'expected_content_sha256')
        await store.removeMemory(client, memoryId)
      })
    },

    /** Creates or replaces the memory under a path, for the agent of a session. */
    async write(id: string, { path, content }: { path: string; content: string }, by: AgentBy): Promise<void> {
      checkMemoryPath(path, 'path')
      const text = checkedContent(content, 'content')
      await change({ id, action: 'write_memory', facts: { path }, ...by }, async client => {
        const before = await store.memoryAt(id, path, client)
        if (before) await store.updateMemory(client, before.id, versionOf(path, text))
        else await insert(client, id, path, text)
      })
    },

    /** Deletes the memory under a path, for the agent of a session. Throws `not_found`. */
    async erase(id: string, path: string, by: AgentBy): Promise<void> {
      await change({ id, action: 'delete_memory', facts: { path }, ...by }, async client => {
        const before = await store.memoryAt(id, path, client)
        if (!before) throw notFound('memory', path)
        await store.removeMemory(client, before.id)
      })
    },

    /** Returns a store for a new session of the caller. Throws `invalid_request`, naming the field. */
    async forSession(id: string, field: string, caller: Caller): Promise<StoreRow> {
      const row = await store.find(id, caller.ownerScope)
      if (!row) throw invalid(`${field}: memory store ${id} not found`)
      if (row.archived_at) throw invalid(`${field}: memory store ${id} is archived`)
      return row
    },
  }
}

/** On whose behalf an agent writes, into a store of this owner. */
export interface AgentBy {
  readonly actor: Actor
  readonly owner: string
}

interface Change {
  readonly id: string
  readonly action: string
  readonly actor: Actor
  /** Undefined matches all. */
  readonly owner: string | undefined
  readonly mayBeArchived?: boolean
  /** More fields of the audit record. */
  readonly facts?: Readonly<Record<string, string>>
}

const pathTaken = (path: string) => new AppError('conflict', `path ${path.slice(0, 200)} is the path of another memory`)

function checkHash({ sha256 }: MemoryRow, expected: string | undefined, field: string): void {
  if (expected !== undefined && expected !== sha256)
    throw new AppError('conflict', `${field} is not the hash of the stored content; read the memory again`)
}

function checkedContent(content: string, field: string): string {
  if (Buffer.byteLength(content) > maxStoredMemoryBytes)
    throw invalid(`${field} must have at most ${maxStoredMemoryBytes} bytes in UTF-8`)
  return content
}

const versionOf = (path: string, content: string): MemoryVersion => ({
  version_id: newId('memver'),
  path,
  content,
  sha256: createHash('sha256').update(content).digest('hex'),
  bytes: Buffer.byteLength(content),
})

const toObject = (row: StoreRow): MemoryStoreObject => ({
  id: row.id,
  type: 'memory_store',
  name: row.name,
  description: row.description,
  metadata: row.metadata,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
  archived_at: row.archived_at?.toISOString() ?? null,
})

const toMemory = (row: MemoryRow, view: View): StoredMemory => ({
  id: row.id,
  type: 'memory',
  memory_store_id: row.store_id,
  memory_version_id: row.version_id,
  path: row.path,
  content: view === 'full' ? row.content : null,
  content_sha256: row.sha256,
  content_size_bytes: row.bytes,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
