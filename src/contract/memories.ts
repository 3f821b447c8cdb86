import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { DateTime, JsonObject, NextCursor, Nullable, pageQuery } from './schemas.ts'

export const MemorySource = named(
  'MemorySource',
  Type.Union([Type.Literal('agent'), Type.Literal('slack'), Type.Literal('ui')]),
)
export type MemorySource = Static<typeof MemorySource>

/** Snippet of text that an agent receives at the start of its sessions. Interface: Resources, Memory. */
export const Memory = named(
  'Memory',
  Type.Object({
    id: Type.String(),
    agent_id: Type.String(),
    text: Type.String(),
    tags: Type.Array(Type.String()),
    type: Type.String(),
    priority: Type.Integer({ description: 'Higher values are injected first' }),
    disabled: Type.Boolean({ description: 'True keeps it out of sessions and search results' }),
    times_applied: Type.Integer({ description: 'Number of searches that returned it' }),
    last_applied_at: Nullable(DateTime),
    source: MemorySource,
    created_at: DateTime,
    session_id: Nullable(Type.String(), 'Session whose agent saved it'),
    created_by: Type.String({
      description: 'Principal that saved it, or whose prompt was running when the agent saved it',
    }),
  }),
)
export type Memory = Static<typeof Memory>

/** In UTF-8. Gaps: section 1, rule 8. */
export const maxMemoryBytes = 32 * 1024

/** Memories of one import, or of one page of an export. */
export const maxImported = 1000

/** Range of an integer in the database. */
const Priority = Type.Integer({ minimum: -2_147_483_648, maximum: 2_147_483_647 })

const fields = {
  text: Type.String({ minLength: 1, maxLength: maxMemoryBytes, description: 'At most 32 KB' }),
  tags: Type.Array(Type.String({ maxLength: 200 }), { maxItems: 8 }),
  type: Type.String({ maxLength: 200, description: 'A free label, such as preference, fact or instruction' }),
  priority: Priority,
}

/** Body of create. Interface: Memories. */
export const MemoryWrite = named(
  'MemoryWrite',
  Type.Object({
    text: fields.text,
    tags: Type.Optional(fields.tags),
    type: Type.Optional(fields.type),
    priority: Type.Optional(fields.priority),
    source: Type.Optional(MemorySource),
  }),
)
export type MemoryWrite = Static<typeof MemoryWrite>

/** Body of update: absent means unchanged. */
export const MemoryChange = named(
  'MemoryChange',
  Type.Object({
    text: Type.Optional(fields.text),
    tags: Type.Optional(fields.tags),
    type: Type.Optional(fields.type),
    priority: Type.Optional(fields.priority),
    disabled: Type.Optional(Type.Boolean()),
  }),
)
export type MemoryChange = Static<typeof MemoryChange>

/** Memory in an export or an import. */
export const PortableMemory = named(
  'PortableMemory',
  Type.Object({ ...MemoryWrite.properties, disabled: Type.Optional(Type.Boolean()) }),
)
export type PortableMemory = Static<typeof PortableMemory>

/** Reason why a memory is in the context of a session or not. */
export const InjectionReason = named(
  'InjectionReason',
  Type.Union([
    Type.Literal('injected'),
    Type.Literal('disabled'),
    Type.Literal('too_many'),
    Type.Literal('no_room'),
    Type.Literal('not_selected', {
      description: 'Was not selected at the first run of the session, which fixes its memories',
    }),
  ]),
)
export type InjectionReason = Static<typeof InjectionReason>

/** Memories that a new session of the agent would receive. */
export const MemoryPreview = named(
  'MemoryPreview',
  Type.Object({
    text: Type.String({
      description: 'Block that the model receives after the system prompt; empty without memories',
    }),
    bytes: Type.Integer(),
    estimated_tokens: Type.Integer({ description: 'One token per four bytes' }),
    max_memories: Type.Integer(),
    max_bytes: Type.Integer(),
    memories: Type.Array(
      Type.Object({ memory: Memory, injected: Type.Boolean(), reason: InjectionReason, message: Type.String() }),
    ),
  }),
)
export type MemoryPreview = Static<typeof MemoryPreview>

/** JSON-RPC 2.0 message of MCP. A message without `id` gets no response. */
export const McpMessage = named(
  'McpMessage',
  Type.Object({
    jsonrpc: Type.Literal('2.0'),
    id: Type.Optional(Type.Union([Type.String(), Type.Integer()])),
    method: Type.Optional(Type.String({ description: 'Absent in responses of a client' })),
    params: Type.Optional(JsonObject),
  }),
)
export type McpMessage = Static<typeof McpMessage>

const AgentPath = Type.Object({ agent_id: Type.String() })
const MemoryPath = Type.Object({ agent_id: Type.String(), memory_id: Type.String() })
const base = { access: 'key', errorShape: 'plain' } as const
const agentPath = '/api/v1/managed_agents/agents/{agent_id}'
const path = `${agentPath}/memory` as const

const listQuery = Type.Object({
  ...pageQuery,
  q: Type.Optional(
    Type.String({ maxLength: 256, description: 'Text that the memory contains, without regard to case' }),
  ),
  tag: Type.Optional(Type.String({ maxLength: 200, description: 'Exactly one of its tags' })),
  type: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Only memories of this type' })),
  source: Type.Optional({ ...MemorySource, description: 'Only memories of this source' }),
  disabled: Type.Optional(
    Type.Boolean({ description: 'Only disabled memories, or only enabled ones; replaces `include_disabled`' }),
  ),
  match: Type.Optional(
    Type.Union([Type.Literal('substring'), Type.Literal('words')], {
      description: '`words`: finds memories that contain any word of `q`, the best match first; one page only',
    }),
  ),
  include_disabled: Type.Optional(
    Type.Boolean({ description: 'Includes disabled memories in results of `q` and `tag`' }),
  ),
  track: Type.Optional(
    Type.Boolean({
      description: 'False: a search does not increase `times_applied`; that of a key with the role `viewer` never does',
    }),
  ),
})
export type MemoryQuery = Static<typeof listQuery>

export const memoryRoutes = {
  list: route({
    ...base,
    id: 'memories.list',
    method: 'GET',
    path,
    params: AgentPath,
    query: listQuery,
    responses: { 200: Type.Array(Memory) },
    summary: 'List or search memories',
    description:
      'Lists the memories of an agent by priority. `q` searches the text and counts the use of each result; `tag` matches one tag. The header `x-next-cursor` has the next page.',
  }),
  create: route({
    ...base,
    id: 'memories.create',
    unknownFields: 'reported',
    method: 'POST',
    path,
    params: AgentPath,
    body: MemoryWrite,
    responses: { 200: Memory },
    summary: 'Create a memory',
    description: 'Adds a memory to an agent. New sessions of the agent receive it at their start.',
  }),
  get: route({
    ...base,
    id: 'memories.get',
    method: 'GET',
    path: `${path}/{memory_id}`,
    params: MemoryPath,
    responses: { 200: Memory },
    summary: 'Read a memory',
    description: 'Returns one memory. It does not count as a use.',
  }),
  update: route({
    ...base,
    id: 'memories.update',
    unknownFields: 'reported',
    method: 'PATCH',
    path: `${path}/{memory_id}`,
    params: MemoryPath,
    body: MemoryChange,
    responses: { 200: Memory },
    summary: 'Update a memory',
    description:
      'Changes a memory. Absent fields stay unchanged; `tags` replaces the list. `disabled: true` keeps it out of sessions and searches.',
  }),
  remove: route({
    ...base,
    id: 'memories.remove',
    method: 'DELETE',
    path: `${path}/{memory_id}`,
    params: MemoryPath,
    responses: { 204: null },
    summary: 'Delete a memory',
    description: 'Deletes a memory for good.',
  }),
  preview: route({
    ...base,
    id: 'memories.preview',
    method: 'GET',
    path: `${agentPath}/memories/preview`,
    params: AgentPath,
    responses: { 200: MemoryPreview },
    summary: 'Preview the memories of a session',
    description: 'Shows which of the first 200 memories a new session would receive, and why the others are left out.',
  }),
  export: route({
    ...base,
    id: 'memories.export',
    method: 'GET',
    path: `${agentPath}/memories/export`,
    params: AgentPath,
    query: Type.Object({
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: maxImported, default: maxImported })),
      cursor: pageQuery.cursor,
    }),
    responses: { 200: Type.Object({ memories: Type.Array(Type.Required(PortableMemory)), next_cursor: NextCursor }) },
    summary: 'Export memories',
    description: 'Returns all memories, disabled ones included, as a body for the import.',
  }),
  import: route({
    ...base,
    id: 'memories.import',
    method: 'POST',
    path: `${agentPath}/memories/import`,
    params: AgentPath,
    body: Type.Object({
      memories: Type.Array(PortableMemory, { maxItems: maxImported }),
      next_cursor: Type.Optional({ ...NextCursor, description: 'Accepted because exports contain it; has no effect' }),
    }),
    bodyLimit: 48 * 1024 * 1024,
    responses: { 200: Type.Object({ imported: Type.Integer(), skipped: Type.Integer() }) },
    summary: 'Import memories',
    description: 'Adds up to 1,000 memories, all or none. Texts that the agent already has are skipped.',
  }),
  mcp: route({
    ...base,
    id: 'memories.mcp',
    unknownFields: 'passed',
    group: 'MCP',
    isForPrograms: true,
    method: 'POST',
    path: `${agentPath}/mcp`,
    params: AgentPath,
    body: McpMessage,
    bodyLimit: 4 * 1024 * 1024,
    responses: { 200: JsonObject, 202: null },
    summary: 'Call the memory tools over MCP',
    description: 'MCP server (streamable HTTP) with the tools `save_memory` and `search_memory` of the agent.',
  }),
}
