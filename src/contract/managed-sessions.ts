import { type Static, Type } from 'typebox'
import { UserMessage } from './event-routes.ts'
import { managedSetup, managedSnapshot } from './managed-agents.ts'
import { managedList, managedPage } from './managed-lists.ts'
import { Metadata, MetadataPatch } from './metadata.ts'
import { named } from './named.ts'
import { DefineOutcome, OutcomeEvaluation } from './outcomes.ts'
import { promptBodyLimit } from './prompt-files.ts'
import { route } from './route.ts'
import { DateTime, JsonObject, Nullable, VersionNumber } from './schemas.ts'

const Id = Type.String({ minLength: 1, maxLength: 200 })
const Version = Type.Optional(VersionNumber())

const AgentChoice = named(
  'AgentChoice',
  Type.Union([
    Id,
    Type.Object({ type: Type.Literal('agent'), id: Id, version: Version }),
    Type.Object({ type: Type.Literal('agent_with_overrides'), id: Id, version: Version, ...managedSetup }),
  ]),
)
export type AgentChoice = Static<typeof AgentChoice>

const Checkout = named(
  'Checkout',
  Type.Union([
    Type.Object({ type: Type.Literal('branch'), name: Type.String({ minLength: 1, maxLength: 300 }) }),
    Type.Object({ type: Type.Literal('commit'), sha: Type.String({ pattern: '^[0-9a-fA-F]{7,64}$' }) }),
  ]),
)

const Repository = named(
  'RepositoryResource',
  Type.Object({
    type: Type.Literal('github_repository'),
    url: Type.String({ minLength: 1, maxLength: 2000, pattern: '\\S' }),
    authorization_token: Type.Optional(Nullable(Type.String({ maxLength: 10_000 }))),
    checkout: Type.Optional(Nullable(Checkout)),
    mount_path: Type.Optional(Nullable(Type.String({ maxLength: 1000 }))),
  }),
)
export type ManagedRepository = Static<typeof Repository>

const File = named(
  'FileResourceWrite',
  Type.Object({
    type: Type.Literal('file'),
    file_id: Id,
    mount_path: Type.Optional(
      Nullable(
        Type.String({
          minLength: 1,
          maxLength: 1000,
          description:
            'Begins with `/workspace/`; by default in `/workspace/uploads/` under the id and the name of the file',
        }),
      ),
    ),
  }),
)
export type ManagedFile = Static<typeof File>
const Access = Type.Union([Type.Literal('read_write'), Type.Literal('read_only')])
const MemoryStore = named(
  'MemoryStoreResourceWrite',
  Type.Object({
    type: Type.Literal('memory_store'),
    memory_store_id: Id,
    access: Type.Optional(Nullable(Access)),
    instructions: Type.Optional(Nullable(Type.String({ maxLength: 4096, description: 'For the agent' }))),
  }),
)
const ResourceWrite = named('ResourceWrite', Type.Union([Repository, File, MemoryStore]))
export type ManagedResourceWrite = Static<typeof ResourceWrite>

/** US cents as a decimal string, which no float rounds. */
const Budget = named(
  'SessionBudget',
  Type.Object({
    type: Type.Literal('limit'),
    max_list_cost: Type.Object({
      amount: Type.String({ pattern: '^[1-9][0-9]{0,13}$', description: 'US cents: "2500" is $25.00' }),
      currency: Type.Literal('USD'),
    }),
  }),
)
export type ManagedBudget = Static<typeof Budget>

const Title = Type.Optional(Nullable(Type.String({ maxLength: 200 })))

/** Body of a new session. Dialects: section 1.5. */
export const ManagedSessionCreate = named(
  'ManagedSessionCreate',
  Type.Object({
    agent: AgentChoice,
    environment_id: Id,
    title: Title,
    metadata: Type.Optional(Metadata),
    resources: Type.Optional(
      Type.Array(ResourceWrite, { maxItems: 100, description: 'At most one repository and eight memory stores' }),
    ),
    vault_ids: Type.Optional(
      Type.Array(Id, { maxItems: 100, description: 'Vaults whose credentials the MCP servers of the agent get' }),
    ),
    budget: Type.Optional(Nullable(Budget)),
    initial_events: Type.Optional(Type.Array(Type.Union([UserMessage, DefineOutcome]), { maxItems: 50 })),
  }),
)
export type ManagedSessionCreate = Static<typeof ManagedSessionCreate>

/** Absent fields stay unchanged; a `budget` of null removes the limit. */
export const ManagedSessionUpdate = named(
  'ManagedSessionUpdate',
  Type.Object({
    title: Title,
    metadata: Type.Optional(Nullable(MetadataPatch)),
    budget: Type.Optional(Nullable(Budget)),
    agent: Type.Optional(Type.Null({ description: 'The agent of a session cannot change' })),
    vault_ids: Type.Optional(Type.Null({ description: 'Can only be set when the session is created' })),
  }),
)
export type ManagedSessionUpdate = Static<typeof ManagedSessionUpdate>

export const DialectSessionStatus = named(
  'DialectSessionStatus',
  Type.Union([Type.Literal('rescheduling'), Type.Literal('running'), Type.Literal('idle'), Type.Literal('terminated')]),
)
export type ManagedStatus = Static<typeof DialectSessionStatus>

const Resource = named(
  'SessionResource',
  Type.Union([
    Type.Object({
      id: Type.String(),
      type: Type.Literal('github_repository'),
      url: Type.String(),
      checkout: Nullable(JsonObject),
      mount_path: Type.String(),
      created_at: DateTime,
      updated_at: DateTime,
    }),
    Type.Object({
      id: Type.String(),
      type: Type.Literal('file'),
      file_id: Type.String(),
      mount_path: Type.String(),
      created_at: DateTime,
      updated_at: DateTime,
    }),
    Type.Object({
      id: Type.String(),
      type: Type.Literal('memory_store'),
      memory_store_id: Type.String(),
      access: Access,
      name: Type.String(),
      description: Type.String(),
      instructions: Nullable(Type.String()),
      mount_path: Type.String({ description: 'Folder in the paths of the agent’s tools' }),
      created_at: DateTime,
      updated_at: DateTime,
    }),
  ]),
)
export type ManagedResource = Static<typeof Resource>

/** A session in the Managed Agents dialect. */
export const DialectSession = named(
  'DialectSession',
  Type.Object({
    id: Type.String(),
    type: Type.Literal('session'),
    status: DialectSessionStatus,
    title: Nullable(Type.String()),
    agent: Type.Object(managedSnapshot),
    environment_id: Type.String({ description: 'Empty for sessions that were created without one' }),
    metadata: Type.Record(Type.String(), Type.String()),
    resources: Type.Array(Resource),
    vault_ids: Type.Array(Type.String()),
    outcome_evaluations: Type.Array(OutcomeEvaluation),
    stats: Type.Object({ active_seconds: Type.Number(), duration_seconds: Type.Number() }),
    usage: JsonObject,
    budget: Nullable(Budget),
    deployment_id: Nullable(Type.String(), 'Deployment that created the session'),
    created_at: DateTime,
    updated_at: DateTime,
    archived_at: Nullable(DateTime),
  }),
)
export type DialectSession = Static<typeof DialectSession>

const SessionPath = Type.Object({ session_id: Type.String() })
const ResourcePath = Type.Object({ session_id: Type.String(), resource_id: Type.String() })
const base = { access: 'key', errorShape: 'anthropic' } as const

export const dialectSessionRoutes = {
  create: route({
    ...base,
    id: 'dialect_sessions.create',
    unknownFields: 'reported',
    method: 'POST',
    path: '/v1/sessions',
    bodyLimit: promptBodyLimit,
    body: ManagedSessionCreate,
    responses: { 200: DialectSession },
    summary: 'Create a session (Managed Agents)',
    description:
      'Creates a session in the format of Managed Agents. With `initial_events` the first run starts at once.',
  }),
  list: route({
    ...base,
    id: 'dialect_sessions.list',
    method: 'GET',
    path: '/v1/sessions',
    query: Type.Object({
      ...managedPage,
      agent_id: Type.Optional(Id),
      agent_version: Version,
      deployment_id: Type.Optional({ ...Id, description: 'Sessions that this deployment started' }),
      statuses: Type.Optional(Type.Unknown({ description: 'One or several statuses; also `statuses[]=`' })),
      'statuses[]': Type.Optional(Type.Unknown()),
      'created_at[gt]': Type.Optional(DateTime),
      'created_at[gte]': Type.Optional(DateTime),
      'created_at[lt]': Type.Optional(DateTime),
      'created_at[lte]': Type.Optional(DateTime),
      include_archived: Type.Optional(Type.Boolean({ default: false })),
      order: Type.Optional(Type.Union([Type.Literal('asc'), Type.Literal('desc')], { default: 'desc' })),
    }),
    responses: { 200: managedList(DialectSession) },
    summary: 'List sessions (Managed Agents)',
    description: 'Lists sessions, newest first.',
  }),
  get: route({
    ...base,
    id: 'dialect_sessions.get',
    method: 'GET',
    path: '/v1/sessions/{session_id}',
    params: SessionPath,
    responses: { 200: DialectSession },
    summary: 'Read a session (Managed Agents)',
    description: 'Returns one session in the format of Managed Agents.',
  }),
  update: route({
    ...base,
    id: 'dialect_sessions.update',
    unknownFields: 'reported',
    method: 'POST',
    path: '/v1/sessions/{session_id}',
    params: SessionPath,
    body: ManagedSessionUpdate,
    responses: { 200: DialectSession },
    summary: 'Update a session (Managed Agents)',
    description: 'Changes the title, the metadata or the budget.',
  }),
  remove: route({
    ...base,
    id: 'dialect_sessions.remove',
    method: 'DELETE',
    path: '/v1/sessions/{session_id}',
    params: SessionPath,
    responses: { 200: Type.Object({ id: Type.String(), type: Type.Literal('session_deleted') }) },
    summary: 'Delete a session (Managed Agents)',
    description: 'Stops its run and removes its sandbox. The log stays until it expires.',
  }),
  archive: route({
    ...base,
    id: 'dialect_sessions.archive',
    method: 'POST',
    path: '/v1/sessions/{session_id}/archive',
    params: SessionPath,
    responses: { 200: DialectSession },
    summary: 'Archive a session (Managed Agents)',
    description: 'Closes an idle session: it accepts no more prompts.',
  }),
  resources: route({
    ...base,
    id: 'dialect_sessions.resources',
    method: 'GET',
    path: '/v1/sessions/{session_id}/resources',
    params: SessionPath,
    query: Type.Object({ ...managedPage }),
    responses: { 200: managedList(Resource) },
    summary: 'List the resources of a session',
    description: 'Lists the resources of the session, such as a repository.',
  }),
  resource: route({
    ...base,
    id: 'dialect_sessions.resource',
    method: 'GET',
    path: '/v1/sessions/{session_id}/resources/{resource_id}',
    params: ResourcePath,
    responses: { 200: Resource },
    summary: 'Read a resource of a session',
    description: 'Returns one resource of the session.',
  }),
  removeResource: route({
    ...base,
    id: 'dialect_sessions.remove_resource',
    method: 'DELETE',
    path: '/v1/sessions/{session_id}/resources/{resource_id}',
    params: ResourcePath,
    responses: { 200: Type.Object({ id: Type.String(), type: Type.Literal('session_resource_deleted') }) },
    summary: 'Remove a file of a session',
    description:
      'Deletes a file resource and its copy in the workspace, while no run is active. Other resources are 400.',
  }),
  addResource: route({
    ...base,
    id: 'dialect_sessions.add_resource',
    unknownFields: 'reported',
    method: 'POST',
    path: '/v1/sessions/{session_id}/resources',
    params: SessionPath,
    body: ResourceWrite,
    responses: { 200: Resource },
    summary: 'Add a file to a session',
    description:
      'Copies an uploaded file into the workspace, while no run is active. Repositories and memory stores are 400: name them when the session is created.',
  }),
}
