import { type Static, Type } from 'typebox'
import { managedList, managedPage } from './managed-lists.ts'
import { Metadata, MetadataPatch } from './metadata.ts'
import { named } from './named.ts'
import { route } from './route.ts'
import { DateTime, JsonObject, Name, Nullable } from './schemas.ts'

const Names = Type.Array(Type.String({ minLength: 1, maxLength: 300 }), { maxItems: 500 })
const packages = ['apt', 'cargo', 'gem', 'go', 'npm', 'pip'] as const

/** Package managers of an environment, in the order of responses. */
export const packageManagers: readonly (typeof packages)[number][] = packages

const Packages = named(
  'EnvironmentPackages',
  Type.Object({
    apt: Type.Optional(Nullable(Names)),
    cargo: Type.Optional(Nullable(Names)),
    gem: Type.Optional(Nullable(Names)),
    go: Type.Optional(Nullable(Names)),
    npm: Type.Optional(Nullable(Names)),
    pip: Type.Optional(Nullable(Names)),
  }),
)

const Networking = named(
  'EnvironmentNetworking',
  Type.Union([
    Type.Object({ type: Type.Literal('unrestricted') }),
    Type.Object({
      type: Type.Literal('limited'),
      allowed_hosts: Type.Optional(Nullable(Names)),
      allow_mcp_servers: Type.Optional(Nullable(Type.Boolean())),
      allow_package_managers: Type.Optional(Nullable(Type.Boolean())),
    }),
  ]),
)

/** Configuration of an environment in a request. Dialects: section 1.4. */
export const EnvironmentConfig = named(
  'EnvironmentConfig',
  Type.Union([
    Type.Object({
      type: Type.Literal('cloud'),
      networking: Type.Optional(Nullable(Networking)),
      packages: Type.Optional(Nullable(Packages)),
    }),
    Type.Object({ type: Type.Literal('self_hosted') }),
  ]),
)
export type EnvironmentConfig = Static<typeof EnvironmentConfig>

const Description = Nullable(Type.String({ maxLength: 10_000 }))
const Scope = Type.Optional(
  Nullable(
    Type.Literal('organization', {
      description: 'Stored and returned, without effect: the owner of an environment decides who sees it',
    }),
  ),
)

export const EnvironmentCreate = named(
  'EnvironmentCreate',
  Type.Object({
    name: Name,
    config: Type.Optional(Nullable(EnvironmentConfig)),
    description: Type.Optional(Description),
    metadata: Type.Optional(Metadata),
    scope: Scope,
  }),
)
export type EnvironmentCreate = Static<typeof EnvironmentCreate>

/** Absent fields stay unchanged, also within `config`. */
export const EnvironmentUpdate = named(
  'EnvironmentUpdate',
  Type.Object({
    name: Type.Optional(Nullable(Name)),
    config: Type.Optional(Nullable(EnvironmentConfig)),
    description: Type.Optional(Description),
    metadata: Type.Optional(Nullable(MetadataPatch)),
    scope: Scope,
  }),
)
export type EnvironmentUpdate = Static<typeof EnvironmentUpdate>

/** Environment of sessions in the Managed Agents dialect. */
export const Environment = named(
  'Environment',
  Type.Object({
    id: Type.String(),
    type: Type.Literal('environment'),
    name: Type.String(),
    description: Nullable(Type.String()),
    config: JsonObject,
    metadata: Type.Record(Type.String(), Type.String()),
    scope: Type.Literal('organization'),
    created_at: DateTime,
    updated_at: DateTime,
    archived_at: Nullable(DateTime),
  }),
)
export type Environment = Static<typeof Environment>

const EnvironmentPath = Type.Object({ environment_id: Type.String() })
const base = { access: 'key', errorShape: 'anthropic' } as const

export const environmentRoutes = {
  create: route({
    ...base,
    id: 'environments.create',
    unknownFields: 'reported',
    method: 'POST',
    path: '/v1/environments',
    body: EnvironmentCreate,
    responses: { 200: Environment },
    summary: 'Create an environment',
    description: 'Creates an environment: the packages and the network access of the sandboxes of its sessions.',
  }),
  list: route({
    ...base,
    id: 'environments.list',
    method: 'GET',
    path: '/v1/environments',
    query: Type.Object({ ...managedPage, include_archived: Type.Optional(Type.Boolean({ default: false })) }),
    responses: { 200: managedList(Environment) },
    summary: 'List environments',
    description: 'Lists environments, newest first.',
  }),
  get: route({
    ...base,
    id: 'environments.get',
    method: 'GET',
    path: '/v1/environments/{environment_id}',
    params: EnvironmentPath,
    responses: { 200: Environment },
    summary: 'Read an environment',
    description: 'Returns one environment.',
  }),
  update: route({
    ...base,
    id: 'environments.update',
    unknownFields: 'reported',
    method: 'POST',
    path: '/v1/environments/{environment_id}',
    params: EnvironmentPath,
    body: EnvironmentUpdate,
    responses: { 200: Environment },
    summary: 'Update an environment',
    description: 'Changes an environment. Existing sessions keep their configuration.',
  }),
  remove: route({
    ...base,
    id: 'environments.remove',
    method: 'DELETE',
    path: '/v1/environments/{environment_id}',
    params: EnvironmentPath,
    responses: { 200: Type.Object({ id: Type.String(), type: Type.Literal('environment_deleted') }) },
    summary: 'Delete an environment',
    description: 'Deletes an environment. Its sessions stay.',
  }),
  archive: route({
    ...base,
    id: 'environments.archive',
    method: 'POST',
    path: '/v1/environments/{environment_id}/archive',
    params: EnvironmentPath,
    responses: { 200: Environment },
    summary: 'Archive an environment',
    description: 'Retires an environment: new sessions cannot use it.',
  }),
}
