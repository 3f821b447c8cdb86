import { createHash } from 'node:crypto'
import type { PoolClient } from 'pg'
import { maxStoredMemories } from '../../contract/memory-stores.ts'
import { AppError, invalid } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { MemoryRow, MemoryVersion, StoredMemoryStore } from './store.ts'
import type { Author, MemoryVersionStore } from './version-store.ts'

interface Deps {
  readonly store: StoredMemoryStore
  readonly versions: MemoryVersionStore
}

/** What a memory has: a text under a path. */
export interface MemoryText {
  readonly path: string
  readonly content: string
}

interface NewMemory extends MemoryText {
  readonly storeId: string
  readonly author: Author
}

/** Changes of memories in the transaction of a client that has locked the store. Each adds a version. */
export function createMemoryWrites({ store, versions }: Deps) {
  return {
    async insert(client: PoolClient, { storeId, path, content, author }: NewMemory): Promise<MemoryRow> {
      if (await store.memoryAt(storeId, path, client)) throw pathTaken(path)
      if ((await store.count(client, storeId)) >= maxStoredMemories)
        throw invalid(`memory store ${storeId} has ${maxStoredMemories} memories, the maximum; delete some`)
      const row = await store.insertMemory(client, storeId, newId('mem'), versionOf({ path, content }))
      await versions.add(client, row, 'created', author)
      return row
    },

    /** Replaces path and content. A write that changes nothing adds no version. */
    async replace(client: PoolClient, before: MemoryRow, text: MemoryText, author: Author): Promise<MemoryRow> {
      const { path, content } = text
      if (path === before.path && content === before.content) return before
      if (path !== before.path && (await store.memoryAt(before.store_id, path, client))) throw pathTaken(path)
      const row = await store.updateMemory(client, before.id, versionOf(text))
      await versions.add(client, row, 'modified', author)
      return row
    },

    async remove(client: PoolClient, before: MemoryRow, author: Author): Promise<void> {
      await store.removeMemory(client, before.id)
      await versions.addDeletion(client, newId('memver'), before, author)
    },
  }
}

const pathTaken = (path: string) => new AppError('conflict', `path ${path.slice(0, 200)} is the path of another memory`)

const versionOf = ({ path, content }: MemoryText): MemoryVersion => ({
  version_id: newId('memver'),
  path,
  content,
  sha256: createHash('sha256').update(content).digest('hex'),
  bytes: Buffer.byteLength(content),
})
