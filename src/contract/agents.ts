import { type Static, Type } from 'typebox'
import { ApprovalsConfig } from './approvals.ts'
import { AttachedSkill } from './attached-skill.ts'
import { agentContext } from './contexts.ts'
import { DiffLines } from './diff-lines.ts'
import { named } from './named.ts'
import { NetworkConfig } from './network.ts'
import { route } from './route.ts'
import { SandboxConfig } from './sandboxes.ts'
import { EpochMs, JsonObject, Name, NextCursor, Nullable, pageQuery, VersionNumber } from './schemas.ts'
import { SessionStatus } from './session-status.ts'
import { WebhookConfig } from './webhooks.ts'

export const AgentStatus = named(
  'AgentStatus',
  Type.Union([Type.Literal('active'), Type.Literal('paused'), Type.Literal('archived')]),
)
export type AgentStatus = Static<typeof AgentStatus>

/** A runtime, a model and a system prompt under one id. Interface: Resources, Agent. */
export const Agent = named(
  'Agent',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    model: Type.String(),
    system: Type.String(),
    tools: Type.Unknown({ description: 'Array or object, returned as sent; {} when never set' }),
    config: JsonObject,
    owner_id: Nullable(Type.String()),
    status: AgentStatus,
    description: Nullable(Type.String()),
    harness: Type.String({ description: 'Runtime of the agent: a built-in id or the alias of a harness' }),
    created_at: EpochMs,
    version: Type.Integer({ description: 'Increases by 1 with every change' }),
    run_as_key_id: Nullable(
      Type.String({
        description:
          'Key under which webhooks and schedules run: the last key that changed model, runtime, tools, `config` or the webhook secret. null when the master key or an unlimited admin key changed them',
      }),
    ),
  }),
)
export type Agent = Static<typeof Agent>

/** Characters of a prompt. The body limit bounds its bytes. */
export const maxPromptLength = 1_000_000

/** Settings of an agent. Unknown names are stored; known ones are validated. */
const AgentConfig = named(
  'AgentConfig',
  Type.Intersect([
    JsonObject,
    Type.Object({
      webhook: Type.Optional(Nullable(WebhookConfig)),
      a2a: Type.Optional(
        Type.Unknown({
          description: '`enabled` serves the agent at `/a2a/{agent}`; `public_card` shows its card without a key',
        }),
      ),
      approvals: Type.Optional(Nullable(ApprovalsConfig)),
      network: Type.Optional(Nullable(NetworkConfig)),
      sandbox: Type.Optional(Nullable(SandboxConfig)),
    }),
  ]),
)

const VersionNote = Type.Optional(
  Nullable(Type.String({ maxLength: 1_000 }), 'Why the version is made; stored with it'),
)

/** Body of create and update. Absent means unchanged; null clears a field that may be null. */
export const AgentWrite = named(
  'AgentWrite',
  Type.Object({
    name: Name,
    owner_id: { ...Name, description: 'Owner of the agent; a key with an owner must give that owner' },
    runtime: Type.Optional(
      Nullable(
        Type.String({
          maxLength: 200,
          description: 'Id of a built-in runtime or alias of a harness; `builtin` by default',
        }),
      ),
    ),
    model: Type.Optional(
      Nullable(
        Type.String({ maxLength: 200, description: 'Model of its sessions; the first one of the gateway by default' }),
      ),
    ),
    system: Type.Optional(Nullable(Type.String({ maxLength: maxPromptLength, description: 'System prompt' }))),
    prompt: Type.Optional(
      Nullable(Type.String({ maxLength: maxPromptLength, description: 'Used when `system` is absent' })),
    ),
    description: Type.Optional(Nullable(Type.String({ maxLength: maxPromptLength }))),
    config: Type.Optional(
      Nullable(
        AgentConfig,
        'Settings of runs, models and webhooks. Given keys replace the stored ones; null removes all',
      ),
    ),
    tools: Type.Optional(Type.Union([Type.Array(Type.Unknown()), JsonObject, Type.Null()])),
    mcp_servers: Type.Optional(
      Type.Unknown({
        description:
          'Another name of `config.mcp_servers`: names of registered MCP servers, and `{type: "url", name, url}` for others',
      }),
    ),
    harness: Type.Optional(
      Nullable(Type.String({ maxLength: 200 }), 'Alternative name of `runtime`, which takes precedence'),
    ),
    note: VersionNote,
  }),
)
export type AgentWrite = Static<typeof AgentWrite>

/** Body of an update. */
export const AgentUpdate = named(
  'AgentUpdate',
  Type.Object({
    ...AgentWrite.properties,
    expected_version: Type.Optional(VersionNumber('Must be the current version; otherwise the answer is 409')),
  }),
)
export type AgentUpdate = Static<typeof AgentUpdate>

export const AgentVersion = named(
  'AgentVersion',
  Type.Object({
    version: Type.Integer(),
    created_at: EpochMs,
    note: Nullable(Type.String({ description: 'Why it was made, as its author wrote' })),
    created_by: Nullable(Type.String({ description: 'Principal; null for versions of older releases' })),
    agent: Agent,
  }),
)
export type AgentVersion = Static<typeof AgentVersion>

/** An agent in a list, with its last session where the request asks for it. */
export const ListedAgent = named(
  'ListedAgent',
  Type.Object({
    ...Agent.properties,
    last_session: Type.Optional(
      Nullable(
        Type.Object({
          id: Type.String(),
          title: Type.String(),
          status: SessionStatus,
          created_at: EpochMs,
          updated_at: EpochMs,
        }),
        'Newest session that is not deleted; only with `include=last_session`',
      ),
    ),
  }),
)
export type ListedAgent = Static<typeof ListedAgent>

/** One difference between two versions. Texts have `lines`: the changed lines with their context. */
export const AgentFieldChange = named(
  'AgentFieldChange',
  Type.Object({
    field: Type.String({ description: '`name`, `system`, `config.max_turns`' }),
    before: Type.Unknown(),
    after: Type.Unknown(),
    lines: Type.Optional(DiffLines),
  }),
)
export type AgentFieldChange = Static<typeof AgentFieldChange>

/** An agent as one file without secrets. `omitted` lists the paths of fields that were left out. */
export const AgentFile = named(
  'AgentFile',
  Type.Object({
    format: Type.Literal('switchyard.agent'),
    format_version: Type.Literal(1),
    agent: Type.Object({
      name: Name,
      owner_id: Nullable(Type.String({ maxLength: 200 })),
      description: Nullable(Type.String({ maxLength: maxPromptLength })),
      model: Type.String({ minLength: 1, maxLength: 200 }),
      system: Type.String({ maxLength: maxPromptLength }),
      harness: Type.String({ minLength: 1, maxLength: 200 }),
      tools: Type.Union([Type.Array(Type.Unknown()), JsonObject]),
      config: JsonObject,
    }),
    skills: Type.Array(AttachedSkill, { maxItems: 100, description: 'Blocks of skills within `agent.system`' }),
    omitted: Type.Array(Type.String()),
  }),
)
export type AgentFile = Static<typeof AgentFile>

const VersionPath = Type.Object({ agent_id: Type.String(), version: VersionNumber() })
const AgentPath = Type.Object({ agent_id: Type.String() })
const base = { access: 'key', errorShape: 'nested' } as const

const lifecycle = <const Verb extends 'pause' | 'resume' | 'archive'>(
  verb: Verb,
  summary: string,
  description: string,
) =>
  route({
    ...base,
    id: `agents.${verb}`,
    method: 'POST',
    path: `/api/agents/{agent_id}/${verb}`,
    params: AgentPath,
    responses: { 200: Agent },
    summary,
    description,
  })

export const agentRoutes = {
  list: route({
    ...base,
    id: 'agents.list',
    method: 'GET',
    path: '/api/agents',
    query: Type.Object({
      ...pageQuery,
      owner_id: Type.Optional(Type.String({ maxLength: 200 })),
      status: Type.Optional(AgentStatus),
      runtime: Type.Optional(Type.String({ maxLength: 200, description: 'Runtime, as in `harness`' })),
      model: Type.Optional(Type.String({ maxLength: 200 })),
      q: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 200,
          description: 'Part of the name, without regard to case, or the id',
        }),
      ),
      include: Type.Optional(
        Type.Literal('last_session', { description: 'Adds the newest session of each agent as `last_session`' }),
      ),
    }),
    responses: { 200: Type.Object({ agents: Type.Array(ListedAgent), next_cursor: NextCursor }) },
    summary: 'List agents',
    description:
      'Lists agents, newest first; `owner_id`, `status`, `runtime`, `model` and `q` filter. A key with an owner sees only that owner’s agents.',
  }),
  create: route({
    ...base,
    id: 'agents.create',
    unknownFields: 'reported',
    method: 'POST',
    path: '/api/agents',
    body: AgentWrite,
    responses: { 201: Agent },
    summary: 'Create an agent',
    description:
      'Creates an agent with version 1. The runtime must be known; the model is checked when a session calls it. Unknown fields are listed in `x-switchyard-ignored`.',
  }),
  get: route({
    ...base,
    id: 'agents.get',
    method: 'GET',
    path: '/api/agents/{agent_id}',
    params: AgentPath,
    responses: { 200: Agent },
    summary: 'Read an agent',
    description: 'Returns the current version of an agent.',
  }),
  update: route({
    ...base,
    id: 'agents.update',
    unknownFields: 'reported',
    method: 'PATCH',
    path: '/api/agents/{agent_id}',
    params: AgentPath,
    body: AgentUpdate,
    responses: { 200: Agent },
    summary: 'Update an agent',
    description:
      'Creates a new version with the given fields. Absent fields stay unchanged; null clears a field that may be null. Running sessions keep their version. `expected_version` rejects a write that would overwrite the change of another writer.',
  }),
  remove: route({
    ...base,
    id: 'agents.remove',
    method: 'DELETE',
    path: '/api/agents/{agent_id}',
    params: AgentPath,
    responses: { 200: Type.Object({ ok: Type.Literal(true) }) },
    summary: 'Delete an agent',
    description: 'Deletes an agent. Its sessions and their logs stay.',
  }),
  pause: lifecycle('pause', 'Pause an agent', 'Rejects new sessions of the agent with 409; running sessions continue.'),
  resume: lifecycle('resume', 'Resume an agent', 'Accepts new sessions of a paused agent again.'),
  archive: lifecycle(
    'archive',
    'Archive an agent',
    'Retires an agent for good: it accepts no new sessions; running sessions continue.',
  ),
  versions: route({
    ...base,
    id: 'agents.versions',
    method: 'GET',
    path: '/api/agents/{agent_id}/versions',
    params: AgentPath,
    query: Type.Object({ ...pageQuery }),
    responses: { 200: Type.Object({ versions: Type.Array(AgentVersion), next_cursor: NextCursor }) },
    summary: 'List the versions of an agent',
    description: 'Lists all versions, newest first.',
  }),
  version: route({
    ...base,
    id: 'agents.version',
    method: 'GET',
    path: '/api/agents/{agent_id}/versions/{version}',
    params: VersionPath,
    responses: { 200: AgentVersion },
    summary: 'Read a version of an agent',
    description: 'Returns the agent as it was in that version.',
  }),
  diff: route({
    ...base,
    id: 'agents.diff',
    method: 'GET',
    path: '/api/agents/{agent_id}/versions/{version}/diff',
    params: VersionPath,
    query: Type.Object({
      to: Type.Optional(VersionNumber('Version to compare with; the current one by default')),
    }),
    responses: {
      200: Type.Object({ from: Type.Integer(), to: Type.Integer(), changes: Type.Array(AgentFieldChange) }),
    },
    summary: 'Compare two versions of an agent',
    description:
      'Lists the fields that differ between a version and `to` (the current version by default). Texts are compared line by line.',
  }),
  export: route({
    ...base,
    id: 'agents.export',
    method: 'GET',
    path: '/api/agents/{agent_id}/export',
    params: AgentPath,
    responses: { 200: AgentFile },
    summary: 'Export an agent',
    description: 'Returns the agent as one file without secrets. `omitted` lists the paths that were left out.',
  }),
  import: route({
    ...base,
    id: 'agents.import',
    method: 'POST',
    path: '/api/agents/import',
    query: Type.Object({
      owner_id: Type.Optional(
        Type.String({ minLength: 1, maxLength: 200, description: 'Replaces the owner in the file' }),
      ),
      name: Type.Optional(Name),
    }),
    body: AgentFile,
    // A prompt, and the skill blocks that it contains once more.
    bodyLimit: 16 * 1024 * 1024,
    responses: { 201: Agent },
    summary: 'Import an agent',
    description:
      'Creates an agent from an exported file. `name` and `owner_id` in the query replace those of the file.',
  }),
  context: agentContext,
  rollback: route({
    ...base,
    id: 'agents.rollback',
    method: 'POST',
    path: '/api/agents/{agent_id}/versions/{version}/rollback',
    params: VersionPath,
    body: Type.Object({ note: VersionNote }),
    bodyOptional: true,
    responses: { 200: Agent },
    summary: 'Roll back an agent',
    description: 'Makes an earlier version current again by creating a new version with its fields.',
  }),
}
