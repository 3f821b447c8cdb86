import type { Pool, PoolClient } from 'pg'
import {
  type MemoryStoreCreate,
  type MemoryStoreObject,
  type MemoryStoreUpdate,
  maxStoredMemoryBytes,
  type StoredMemory,
  type StoredMemoryCreate,
  type StoredMemoryUpdate,
} from '../../contract/memory-stores.ts'
import type { MemoryVersionObject } from '../../contract/memory-versions.ts'
import type { Audit } from '../audit/audit.ts'
import { transaction } from '../db/connect.ts'
import { once, sqlOfClient } from '../db/once.ts'
import type { Actor, By, Caller } from '../http/caller.ts'
import type { Idempotency } from '../http/idempotency.ts'
import { AppError, invalid, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { patched } from '../platform/metadata.ts'
import { checkMemoryPath } from './memory-path.ts'
import { createMemoryWrites, type MemoryText } from './memory-writes.ts'
import type { MemoryRow, StoredMemoryStore, StoreRow } from './store.ts'
import { keyOf, toMemoryVersion } from './version-object.ts'
import type { Author, MemoryVersionStore, VersionQuery } from './version-store.ts'

interface Deps {
  readonly pool: Pool
  readonly store: StoredMemoryStore
  readonly versions: MemoryVersionStore
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

export function createMemoryStores({ pool, store, versions, audit }: Deps) {
  const writes = createMemoryWrites({ store, versions })

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
      return toMemory(
        await change(of, client => writes.insert(client, { storeId: id, path, content: text, author: authorOf(by) })),
        view,
      )
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
        return writes.replace(client, before, { path, content: body.content ?? before.content }, authorOf(by))
      })
      return toMemory(row, view)
    },

    async removeMemory(id: string, memoryId: string, expected: string | undefined, by: By): Promise<void> {
      const facts = { memory_id: memoryId }
      await change({ ...changeOf(id, 'delete_memory', by), facts, mayBeArchived: true }, async client => {
        const before = await store.memory(id, memoryId, client)
        if (!before) throw notFound('memory', memoryId)
        checkHash(before, expected, 'expected_content_sha256')
        await writes.remove(client, before, authorOf(by))
      })
    },

    /** Creates or replaces the memory under a path, for the agent of a session. */
    async write(id: string, { path, content }: MemoryText, { sessionId, ...by }: AgentBy): Promise<void> {
      checkMemoryPath(path, 'path')
      const text = checkedContent(content, 'content')
      await change({ id, action: 'write_memory', facts: { path }, ...by }, async client => {
        const before = await store.memoryAt(id, path, client)
        const author = { key_id: null, session_id: sessionId }
        if (before) await writes.replace(client, before, { path, content: text }, author)
        else await writes.insert(client, { storeId: id, path, content: text, author })
      })
    },

    /** Deletes the memory under a path, for the agent of a session. Throws `not_found`. */
    async erase(id: string, path: string, { sessionId, ...by }: AgentBy): Promise<void> {
      await change({ id, action: 'delete_memory', facts: { path }, ...by }, async client => {
        const before = await store.memoryAt(id, path, client)
        if (!before) throw notFound('memory', path)
        await writes.remove(client, before, { key_id: null, session_id: sessionId })
      })
    },

    async versions(id: string, { view, ...query }: VersionQuery & { view: View }, caller: Caller) {
      await found(id, caller)
      return (await versions.list(id, query)).map(row => toMemoryVersion(row, view))
    },

    async version(id: string, versionId: string, view: View, caller: Caller): Promise<MemoryVersionObject> {
      await found(id, caller)
      const row = await versions.find(id, versionId)
      if (!row) throw notFound('version', versionId)
      return toMemoryVersion(row, view)
    },

    /** Removes what a version contains. Throws `invalid_request` for the current version of a memory. */
    async redact(id: string, versionId: string, by: By): Promise<MemoryVersionObject> {
      const facts = { memory_version_id: versionId }
      return change({ ...changeOf(id, 'redact_version', by), facts, mayBeArchived: true }, async client => {
        const before = await versions.find(id, versionId, client)
        if (!before) throw notFound('version', versionId)
        const { memory_id } = before
        if ((await store.memory(id, memory_id, client))?.version_id === versionId)
          throw invalid(`version ${versionId} is the current one of memory ${memory_id}; change or delete that first`)
        return toMemoryVersion(await versions.redact(client, versionId, keyOf(by.actor)), 'full')
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
  readonly sessionId: string
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

const authorOf = ({ actor }: { readonly actor: Actor }): Author => ({ key_id: keyOf(actor), session_id: null })

function checkHash({ sha256 }: MemoryRow, expected: string | undefined, field: string): void {
  if (expected !== undefined && expected !== sha256)
    throw new AppError('conflict', `${field} is not the hash of the stored content; read the memory again`)
}

function checkedContent(content: string, field: string): string {
  if (Buffer.byteLength(content) > maxStoredMemoryBytes)
    throw invalid(`${field} must have at most ${maxStoredMemoryBytes} bytes in UTF-8`)
  return content
}

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
