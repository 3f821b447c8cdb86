import { type Static, Type } from 'typebox'
import { maxPromptLength } from './agents.ts'
import { managedList, managedPage } from './managed-lists.ts'
import { Metadata, MetadataPatch } from './metadata.ts'
import { named } from './named.ts'
import { route } from './route.ts'
import { DateTime, JsonObject, Name, Nullable, VersionNumber } from './schemas.ts'

const Policy = named(
  'ToolPolicy',
  Type.Object({
    type: Type.Union([Type.Literal('always_allow'), Type.Literal('always_ask'), Type.Literal('auto')]),
  }),
)
const toolSetting = {
  enabled: Type.Optional(Nullable(Type.Boolean())),
  permission_policy: Type.Optional(Nullable(Policy)),
}
const ToolConfig = named(
  'ManagedToolConfig',
  Type.Object({ name: Type.String({ minLength: 1, maxLength: 128 }), ...toolSetting }),
)
const toolset = {
  default_config: Type.Optional(Nullable(Type.Object(toolSetting))),
  configs: Type.Optional(Nullable(Type.Array(ToolConfig, { maxItems: 256 }))),
}

/** An entry of an agent's `tools`. Dialects: section 1.3. */
export const ManagedTool = named(
  'ManagedTool',
  Type.Union([
    Type.Object({ type: Type.Literal('agent_toolset_20260401'), ...toolset }),
    Type.Object({ type: Type.Literal('mcp_toolset'), mcp_server_name: Name, ...toolset }),
    Type.Object({
      type: Type.Literal('custom'),
      name: Name,
      description: Type.Optional(Type.String({ maxLength: 10_000 })),
      input_schema: JsonObject,
      timeout_seconds: Type.Optional(
        Nullable(Type.Integer({ minimum: 1, maximum: 604_800 }), 'Seconds after which a call without a result fails'),
      ),
    }),
  ]),
)
export type ManagedTool = Static<typeof ManagedTool>

const Effort = named(
  'Effort',
  Type.Union([Type.String({ maxLength: 20 }), Type.Object({ type: Type.String({ maxLength: 20 }) })]),
)

/** Model by name, or with settings that some runtimes use. */
export const ManagedModel = named(
  'ManagedModel',
  Type.Union([
    Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' }),
    Type.Object({
      id: Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' }),
      effort: Type.Optional(Nullable(Effort)),
      speed: Type.Optional(Nullable(Type.String({ maxLength: 20 }))),
      inference_geo: Type.Optional(Nullable(Type.String({ maxLength: 100 }))),
    }),
  ]),
)
export type ManagedModel = Static<typeof ManagedModel>

export const ManagedSkill = named(
  'ManagedSkill',
  Type.Object({
    type: Type.Union([Type.Literal('anthropic'), Type.Literal('custom')]),
    skill_id: Type.String({ minLength: 1, maxLength: 200 }),
    version: Type.Optional(Nullable(Type.String({ maxLength: 100 }))),
  }),
)
export type ManagedSkill = Static<typeof ManagedSkill>

export const ManagedMcpServer = named(
  'ManagedMcpServer',
  Type.Object({
    type: Type.Literal('url'),
    name: Type.String({ minLength: 1, maxLength: 255 }),
    url: Type.String({ minLength: 1, maxLength: 2000, pattern: '^https?://' }),
  }),
)
export type ManagedMcpServer = Static<typeof ManagedMcpServer>

const System = Type.String({ maxLength: maxPromptLength })
const Tools = Type.Array(ManagedTool, { maxItems: 256 })
const McpServers = Type.Array(ManagedMcpServer, { maxItems: 20 })
const Skills = Type.Array(ManagedSkill, { maxItems: 100 })
const Description = Type.String({ maxLength: 10_000 })

/** Fields of an agent that a session can override. */
export const managedSetup = {
  model: Type.Optional(ManagedModel),
  system: Type.Optional(Nullable(System)),
  tools: Type.Optional(Nullable(Tools)),
  mcp_servers: Type.Optional(Nullable(McpServers)),
  skills: Type.Optional(Nullable(Skills)),
}

const Disabled = Type.Object({ type: Type.Literal('disabled') })
const Off = Type.Optional(Nullable(Type.Union([Disabled]), 'Not supported: absent, null or disabled'))

/** An agent that another one may call. */
const RosterEntry = named(
  'RosterEntry',
  Type.Union([
    Type.String({ minLength: 1, maxLength: 200 }),
    Type.Object({
      type: Type.Literal('agent'),
      id: Type.String({ minLength: 1, maxLength: 200 }),
      version: Type.Optional(Nullable(VersionNumber())),
    }),
  ]),
)
export type ManagedRosterEntry = Static<typeof RosterEntry>
const Roster = Type.Array(RosterEntry, { maxItems: 20 })

/** The agents that an agent may call: `config.agents` of `/api/agents`. */
export const ManagedMultiagent = named(
  'ManagedMultiagent',
  Type.Union([
    Type.Object({
      type: Type.Literal('coordinator'),
      agents: Type.Array(RosterEntry, { minItems: 1, maxItems: 20 }),
    }),
    Type.Object({
      type: Type.Literal('multiagent_20261001'),
      subagents: Type.Optional(
        Nullable(
          Type.Union([
            Type.Object({
              type: Type.Literal('enabled'),
              predefined_agents: Type.Optional(Nullable(Roster)),
              inline_agents: Off,
            }),
            Disabled,
          ]),
        ),
      ),
      workflows: Off,
      advisor: Off,
    }),
  ]),
)
export type ManagedMultiagent = Static<typeof ManagedMultiagent>

/** Fields that agents have in addition to those of a session. */
const ofAgents = {
  multiagent: Type.Optional(Nullable(ManagedMultiagent)),
  execution_identity: Type.Optional(Nullable(Type.Object({ type: Type.Literal('service_account') }))),
}

export const ManagedAgentCreate = named(
  'ManagedAgentCreate',
  Type.Object({
    ...managedSetup,
    model: ManagedModel,
    name: Name,
    description: Type.Optional(Nullable(Description)),
    metadata: Type.Optional(Metadata),
    ...ofAgents,
  }),
)
export type ManagedAgentCreate = Static<typeof ManagedAgentCreate>

/** Absent means unchanged, null clears; lists are replaced as a whole. */
export const ManagedAgentUpdate = named(
  'ManagedAgentUpdate',
  Type.Object({
    ...managedSetup,
    name: Type.Optional(Name),
    description: Type.Optional(Nullable(Description)),
    metadata: Type.Optional(Nullable(MetadataPatch)),
    version: Type.Optional(VersionNumber('Must be the current version; otherwise the answer is 409')),
    ...ofAgents,
  }),
)
export type ManagedAgentUpdate = Static<typeof ManagedAgentUpdate>

/** Agent of a thread. */
export const managedThreadAgent = {
  id: Type.String(),
  type: Type.Literal('agent'),
  version: Type.Integer(),
  name: Type.String(),
  description: Nullable(Type.String()),
  model: Type.Object({ id: Type.String() }, { additionalProperties: true }),
  system: Nullable(Type.String()),
  tools: Type.Array(JsonObject),
  mcp_servers: Type.Array(JsonObject),
  skills: Type.Array(JsonObject),
  execution_identity: Type.Object({ type: Type.Literal('service_account') }),
}

/** Agent of a session, with its overrides. */
export const managedSnapshot = { ...managedThreadAgent, multiagent: Nullable(JsonObject) }

/** An agent in the Managed Agents dialect: the same record as `Agent`. Dialects: section 1.3. */
export const ManagedAgent = named(
  'ManagedAgent',
  Type.Object({
    ...managedSnapshot,
    metadata: Type.Record(Type.String(), Type.String()),
    created_at: DateTime,
    updated_at: DateTime,
    archived_at: Nullable(DateTime),
  }),
)
export type ManagedAgent = Static<typeof ManagedAgent>

const AgentPath = Type.Object({ agent_id: Type.String() })
const base = { access: 'key', errorShape: 'anthropic' } as const

export const managedAgentRoutes = {
  create: route({
    ...base,
    id: 'managed_agents.create',
    unknownFields: 'reported',
    method: 'POST',
    path: '/v1/agents',
    body: ManagedAgentCreate,
    responses: { 200: ManagedAgent },
    summary: 'Create an agent (Managed Agents)',
    description: 'Creates an agent in the format of Anthropic’s Managed Agents.',
  }),
  list: route({
    ...base,
    id: 'managed_agents.list',
    method: 'GET',
    path: '/v1/agents',
    query: Type.Object({
      ...managedPage,
      include_archived: Type.Optional(Type.Boolean({ default: false })),
      'created_at[gte]': Type.Optional(DateTime),
      'created_at[lte]': Type.Optional(DateTime),
    }),
    responses: { 200: managedList(ManagedAgent) },
    summary: 'List agents (Managed Agents)',
    description: 'Lists agents, newest first.',
  }),
  get: route({
    ...base,
    id: 'managed_agents.get',
    method: 'GET',
    path: '/v1/agents/{agent_id}',
    params: AgentPath,
    query: Type.Object({ version: Type.Optional(VersionNumber()) }),
    responses: { 200: ManagedAgent },
    summary: 'Read an agent (Managed Agents)',
    description: 'Returns an agent, or the version that `version` names.',
  }),
  update: route({
    ...base,
    id: 'managed_agents.update',
    unknownFields: 'reported',
    method: 'POST',
    path: '/v1/agents/{agent_id}',
    params: AgentPath,
    body: ManagedAgentUpdate,
    responses: { 200: ManagedAgent },
    summary: 'Update an agent (Managed Agents)',
    description: 'Creates a new version. A request that changes nothing creates none.',
  }),
  archive: route({
    ...base,
    id: 'managed_agents.archive',
    method: 'POST',
    path: '/v1/agents/{agent_id}/archive',
    params: AgentPath,
    responses: { 200: ManagedAgent },
    summary: 'Archive an agent (Managed Agents)',
    description: 'Retires an agent; running sessions continue.',
  }),
  versions: route({
    ...base,
    id: 'managed_agents.versions',
    method: 'GET',
    path: '/v1/agents/{agent_id}/versions',
    params: AgentPath,
    query: Type.Object({ ...managedPage }),
    responses: { 200: managedList(ManagedAgent) },
    summary: 'List the versions of an agent (Managed Agents)',
    description: 'Lists all versions, newest first.',
  }),
}
