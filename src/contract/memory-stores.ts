import { type Static, Type } from 'typebox'
import { managedList, managedPage } from './managed-lists.ts'
import { Metadata, MetadataPatch } from './metadata.ts'
import { named } from './named.ts'
import { route } from './route.ts'
import { DateTime, Nullable } from './schemas.ts'

/** In UTF-8. Source: Managed Agents, memories. */
export const maxStoredMemoryBytes = 102_400
/** Memories of one store. Our choice. */
export const maxStoredMemories = 2_000

const Name = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '^[^\\u0000-\\u001f\\u007f]*\\S[^\\u0000-\\u001f\\u007f]*$',
})
const Description = Type.String({ maxLength: 1024 })
const Content = Type.String({ maxLength: maxStoredMemoryBytes, description: 'At most 100 kB in UTF-8' })
const Path = Type.String({
  minLength: 2,
  maxLength: 1024,
  description: 'Begins with `/`; 1 to 20 segments, none of them empty, `.` or `..`',
})
const View = Type.Optional(
  Type.Union([Type.Literal('basic'), Type.Literal('full')], { description: '`full` includes the content' }),
)
const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' })

/** A store of memories of the Managed Agents dialect. */
export const MemoryStoreObject = named(
  'MemoryStore',
  Type.Object({
    id: Type.String(),
    type: Type.Literal('memory_store'),
    name: Type.String(),
    description: Type.String(),
    metadata: Type.Record(Type.String(), Type.String()),
    created_at: DateTime,
    updated_at: DateTime,
    archived_at: Nullable(DateTime),
  }),
)
export type MemoryStoreObject = Static<typeof MemoryStoreObject>

const MemoryStoreCreate = named(
  'MemoryStoreCreate',
  Type.Object({
    name: Name,
    description: Type.Optional(Description),
    metadata: Type.Optional(Metadata),
  }),
)
export type MemoryStoreCreate = Static<typeof MemoryStoreCreate>

const MemoryStoreUpdate = named(
  'MemoryStoreUpdate',
  Type.Object({
    name: Type.Optional(Nullable(Name)),
    description: Type.Optional(Nullable(Description)),
    metadata: Type.Optional(Nullable(MetadataPatch)),
  }),
)
export type MemoryStoreUpdate = Static<typeof MemoryStoreUpdate>

/** A memory of a store: a text under a path. */
export const StoredMemory = named(
  'StoredMemory',
  Type.Object({
    id: Type.String(),
    type: Type.Literal('memory'),
    memory_store_id: Type.String(),
    memory_version_id: Type.String({ description: 'Changes with the content and the path' }),
    path: Type.String(),
    content: Nullable(Type.String(), 'Null with `view=basic`'),
    content_sha256: Type.String(),
    content_size_bytes: Type.Integer(),
    created_at: DateTime,
    updated_at: DateTime,
  }),
)
export type StoredMemory = Static<typeof StoredMemory>

const StoredMemoryCreate = named('StoredMemoryCreate', Type.Object({ path: Path, content: Nullable(Content) }))
export type StoredMemoryCreate = Static<typeof StoredMemoryCreate>

const StoredMemoryUpdate = named(
  'StoredMemoryUpdate',
  Type.Object({
    path: Type.Optional(Nullable(Path)),
    content: Type.Optional(Nullable(Content)),
    precondition: Type.Optional(
      Type.Object(
        { type: Type.Literal('content_sha256'), content_sha256: Type.Optional(Sha256) },
        { description: 'The update is 409 when the content has another hash' },
      ),
    ),
  }),
)
export type StoredMemoryUpdate = Static<typeof StoredMemoryUpdate>

const StorePath = Type.Object({ memory_store_id: Type.String() })
const MemoryPath = Type.Object({ memory_store_id: Type.String(), memory_id: Type.String() })
const viewQuery = Type.Object({ view: View })
const base = { access: 'key', errorShape: 'anthropic' } as const
const path = '/v1/memory_stores'

export const memoryStoreRoutes = {
  create: route({
    ...base,
    id: 'memory_stores.create',
    unknownFields: 'reported',
    method: 'POST',
    path,
    body: MemoryStoreCreate,
    responses: { 200: MemoryStoreObject },
    summary: 'Create a memory store',
    description: 'Creates a store of memories. Sessions that name it in `resources` read and write its memories.',
  }),
  list: route({
    ...base,
    id: 'memory_stores.list',
    method: 'GET',
    path,
    query: Type.Object({
      ...managedPage,
      'created_at[gte]': Type.Optional(DateTime),
      'created_at[lte]': Type.Optional(DateTime),
      include_archived: Type.Optional(Type.Boolean({ default: false })),
    }),
    responses: { 200: managedList(MemoryStoreObject) },
    summary: 'List memory stores',
    description: 'Lists the caller’s stores, newest first.',
  }),
  get: route({
    ...base,
    id: 'memory_stores.get',
    method: 'GET',
    path: `${path}/{memory_store_id}`,
    params: StorePath,
    responses: { 200: MemoryStoreObject },
    summary: 'Read a memory store',
    description: 'Returns one store without its memories.',
  }),
  update: route({
    ...base,
    id: 'memory_stores.update',
    unknownFields: 'reported',
    method: 'POST',
    path: `${path}/{memory_store_id}`,
    params: StorePath,
    body: MemoryStoreUpdate,
    responses: { 200: MemoryStoreObject },
    summary: 'Update a memory store',
    description: 'Changes name, description or metadata. Sessions that have the store keep the old name.',
  }),
  archive: route({
    ...base,
    id: 'memory_stores.archive',
    method: 'POST',
    path: `${path}/{memory_store_id}/archive`,
    params: StorePath,
    responses: { 200: MemoryStoreObject },
    summary: 'Archive a memory store',
    description: 'Makes a store read-only for good: new sessions cannot use it. Its memories can be read and deleted.',
  }),
  remove: route({
    ...base,
    id: 'memory_stores.remove',
    method: 'DELETE',
    path: `${path}/{memory_store_id}`,
    params: StorePath,
    responses: { 200: Type.Object({ id: Type.String(), type: Type.Literal('memory_store_deleted') }) },
    summary: 'Delete a memory store',
    description: 'Deletes a store with its memories.',
  }),
  createMemory: route({
    ...base,
    id: 'memory_stores.create_memory',
    unknownFields: 'reported',
    method: 'POST',
    path: `${path}/{memory_store_id}/memories`,
    params: StorePath,
    query: viewQuery,
    body: StoredMemoryCreate,
    responses: { 200: StoredMemory },
    summary: 'Create a memory in a store',
    description: `Adds a memory under a path that the store does not have yet, else 409. A store has at most ${maxStoredMemories} memories.`,
  }),
  memories: route({
    ...base,
    id: 'memory_stores.memories',
    method: 'GET',
    path: `${path}/{memory_store_id}/memories`,
    params: StorePath,
    query: Type.Object({
      ...managedPage,
      path_prefix: Type.Optional(
        Type.String({ maxLength: 1024, pattern: '^/(.*/)?$', description: 'Begins and ends with `/`' }),
      ),
      depth: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 0, description: 'Must be 0: all memories below the prefix' }),
      ),
      view: View,
    }),
    responses: { 200: managedList(StoredMemory) },
    summary: 'List the memories of a store',
    description: 'Lists memories by path. With `view=full` a page has at most 20.',
  }),
  memory: route({
    ...base,
    id: 'memory_stores.memory',
    method: 'GET',
    path: `${path}/{memory_store_id}/memories/{memory_id}`,
    params: MemoryPath,
    query: viewQuery,
    responses: { 200: StoredMemory },
    summary: 'Read a memory of a store',
    description: 'Returns one memory, by default with its content.',
  }),
  updateMemory: route({
    ...base,
    id: 'memory_stores.update_memory',
    unknownFields: 'reported',
    method: 'POST',
    path: `${path}/{memory_store_id}/memories/{memory_id}`,
    params: MemoryPath,
    query: viewQuery,
    body: StoredMemoryUpdate,
    responses: { 200: StoredMemory },
    summary: 'Update a memory of a store',
    description: 'Replaces the content, the path or both. `precondition` makes a change of another client a 409.',
  }),
  removeMemory: route({
    ...base,
    id: 'memory_stores.remove_memory',
    method: 'DELETE',
    path: `${path}/{memory_store_id}/memories/{memory_id}`,
    params: MemoryPath,
    query: Type.Object({
      expected_content_sha256: Type.Optional({
        ...Sha256,
        description: 'The deletion is 409 when the content has another hash',
      }),
    }),
    responses: { 200: Type.Object({ id: Type.String(), type: Type.Literal('memory_deleted') }) },
    summary: 'Delete a memory of a store',
    description: 'Deletes a memory for good.',
  }),
}
