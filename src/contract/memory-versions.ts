import { type Static, Type } from 'typebox'
import { managedList, managedPage } from './managed-lists.ts'
import { named } from './named.ts'
import { route } from './route.ts'
import { DateTime, Nullable } from './schemas.ts'

/** Days for which the versions of a memory are kept, and how many. Our choice. */
export const memoryVersionDays = 30
export const maxMemoryVersions = 500

const Operation = Type.Union([Type.Literal('created'), Type.Literal('modified'), Type.Literal('deleted')])

const Author = named(
  'MemoryVersionAuthor',
  Type.Union([
    Type.Object({
      type: Type.Literal('api_actor'),
      api_key_id: Type.String({ description: 'Id of the key; `master` for the master key' }),
    }),
    Type.Object({ type: Type.Literal('session_actor'), session_id: Type.String() }),
  ]),
)

/** One change of a memory of a store. */
export const MemoryVersionObject = named(
  'MemoryVersion',
  Type.Object({
    id: Type.String(),
    type: Type.Literal('memory_version'),
    memory_store_id: Type.String(),
    memory_id: Type.String({ description: 'The memory may be deleted' }),
    operation: Operation,
    path: Nullable(Type.String(), 'Null once it is redacted'),
    content: Nullable(Type.String(), 'Null with `view=basic`, for a deletion, and once it is redacted'),
    content_sha256: Nullable(Type.String()),
    content_size_bytes: Nullable(Type.Integer()),
    created_by: Nullable(Author, 'Null for a change of an older release'),
    created_at: DateTime,
    redacted_by: Nullable(Author),
    redacted_at: Nullable(DateTime),
  }),
)
export type MemoryVersionObject = Static<typeof MemoryVersionObject>

const VersionPath = Type.Object({
  memory_store_id: Type.String(),
  memory_version_id: Type.String({ description: 'Id of the version' }),
})
const View = Type.Optional(
  Type.Union([Type.Literal('basic'), Type.Literal('full')], { description: '`full` includes the content' }),
)
const Id = (description: string) => Type.Optional(Type.String({ maxLength: 200, description }))
const base = { access: 'key', errorShape: 'anthropic' } as const
const path = '/v1/memory_stores/{memory_store_id}/memory_versions'

export const memoryVersionRoutes = {
  list: route({
    ...base,
    id: 'memory_versions.list',
    method: 'GET',
    path,
    params: Type.Object({ memory_store_id: Type.String() }),
    query: Type.Object({
      ...managedPage,
      memory_id: Id('Versions of this memory, which may be deleted'),
      operation: Type.Optional({ ...Operation, description: 'Changes of this kind' }),
      api_key_id: Id('Changes of callers with this key'),
      session_id: Id('Changes of the agent of this session'),
      'created_at[gte]': Type.Optional(DateTime),
      'created_at[lte]': Type.Optional(DateTime),
      view: View,
    }),
    responses: { 200: managedList(MemoryVersionObject) },
    summary: 'List the versions of memories',
    description: `Lists the changes of the memories of a store, newest first. With \`view=full\` a page has at most 20. Versions are kept for ${memoryVersionDays} days, and the newest ${maxMemoryVersions} of a memory; the current one stays.`,
  }),
  get: route({
    ...base,
    id: 'memory_versions.get',
    method: 'GET',
    path: `${path}/{memory_version_id}`,
    params: VersionPath,
    query: Type.Object({ view: View }),
    responses: { 200: MemoryVersionObject },
    summary: 'Read a version of a memory',
    description: 'Returns one version, by default with its content.',
  }),
  redact: route({
    ...base,
    id: 'memory_versions.redact',
    method: 'POST',
    path: `${path}/{memory_version_id}/redact`,
    params: VersionPath,
    responses: { 200: MemoryVersionObject },
    summary: 'Redact a version of a memory',
    description:
      'Removes content and path of a version for good; that it happened, when and by whom stays. The current version of a memory answers 400: change or delete the memory first.',
  }),
}
