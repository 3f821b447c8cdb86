import { type Static, Type } from 'typebox'
import { route } from './route.ts'
import { EpochMs, JsonObject, Name, NextCursor, Nullable, pageQuery } from './schemas.ts'

export const AgentStatus = Type.Union([Type.Literal('active'), Type.Literal('paused'), Type.Literal('archived')])
export type AgentStatus = Static<typeof AgentStatus>

/** A runtime, a model and a system prompt under one id. Interface: Resources, Agent. */
export const Agent = Type.Object({
  id: Type.String(),
  name: Type.String(),
  model: Type.String(),
  system: Type.String(),
  tools: Type.Unknown({ description: 'Array or object, returned as sent; {} when never set' }),
  config: JsonObject,
  owner_id: Nullable(Type.String()),
  status: AgentStatus,
  description: Nullable(Type.String()),
  harness: Type.String(),
  created_at: EpochMs,
  version: Type.Integer({ description: 'Counts up with every change' }),
})
export type Agent = Static<typeof Agent>

/** 1 MB of text, as bytes of a single-byte script; the body limit bounds the rest. */
export const maxPromptLength = 1_000_000

/** Body of create and update. Absent means unchanged, null clears what may be null. */
export const AgentWrite = Type.Object({
  name: Name,
  owner_id: Name,
  runtime: Type.Optional(Nullable(Type.String({ maxLength: 200 }))),
  model: Type.Optional(Nullable(Type.String({ maxLength: 200 }))),
  system: Type.Optional(Nullable(Type.String({ maxLength: maxPromptLength }))),
  prompt: Type.Optional(
    Nullable(Type.String({ maxLength: maxPromptLength, description: 'Used when `system` is absent' })),
  ),
  description: Type.Optional(Nullable(Type.String({ maxLength: maxPromptLength }))),
  config: Type.Optional(Nullable(JsonObject)),
  tools: Type.Optional(Type.Union([Type.Array(Type.Unknown()), JsonObject, Type.Null()])),
  harness: Type.Optional(Nullable(Type.String({ maxLength: 200 }))),
})
export type AgentWrite = Static<typeof AgentWrite>

export const AgentVersion = Type.Object({ version: Type.Integer(), created_at: EpochMs, agent: Agent })
export type AgentVersion = Static<typeof AgentVersion>

const AgentPath = Type.Object({ agent_id: Type.String() })
const base = { access: 'key', errorShape: 'nested' } as const

const lifecycle = <const Verb extends 'pause' | 'resume' | 'archive'>(verb: Verb, summary: string) =>
  route({
    ...base,
    id: `agents.${verb}`,
    method: 'POST',
    path: `/api/agents/{agent_id}/${verb}`,
    params: AgentPath,
    responses: { 200: Agent },
    summary,
  })

export const agentRoutes = {
  list: route({
    ...base,
    id: 'agents.list',
    method: 'GET',
    path: '/api/agents',
    query: Type.Object({ ...pageQuery, owner_id: Type.Optional(Type.String({ maxLength: 200 })) }),
    responses: { 200: Type.Object({ agents: Type.Array(Agent), next_cursor: NextCursor }) },
    summary: 'List agents, newest first',
  }),
  create: route({
    ...base,
    id: 'agents.create',
    method: 'POST',
    path: '/api/agents',
    body: AgentWrite,
    responses: { 201: Agent },
    summary: 'Create an agent',
  }),
  get: route({
    ...base,
    id: 'agents.get',
    method: 'GET',
    path: '/api/agents/{agent_id}',
    params: AgentPath,
    responses: { 200: Agent },
    summary: 'Read one agent',
  }),
  update: route({
    ...base,
    id: 'agents.update',
    method: 'PATCH',
    path: '/api/agents/{agent_id}',
    params: AgentPath,
    body: AgentWrite,
    responses: { 200: Agent },
    summary: 'Update an agent; absent fields stay, null clears',
  }),
  remove: route({
    ...base,
    id: 'agents.remove',
    method: 'DELETE',
    path: '/api/agents/{agent_id}',
    params: AgentPath,
    responses: { 200: Type.Object({ ok: Type.Literal(true) }) },
    summary: 'Delete an agent; its sessions stay',
  }),
  pause: lifecycle('pause', 'Refuse new sessions; running ones go on'),
  resume: lifecycle('resume', 'Take new sessions again'),
  archive: lifecycle('archive', 'Retire an agent; running sessions go on'),
  versions: route({
    ...base,
    id: 'agents.versions',
    method: 'GET',
    path: '/api/agents/{agent_id}/versions',
    params: AgentPath,
    query: Type.Object({ ...pageQuery }),
    responses: { 200: Type.Object({ versions: Type.Array(AgentVersion), next_cursor: NextCursor }) },
    summary: 'List the versions of an agent, newest first',
  }),
  rollback: route({
    ...base,
    id: 'agents.rollback',
    method: 'POST',
    path: '/api/agents/{agent_id}/versions/{version}/rollback',
    params: Type.Object({ agent_id: Type.String(), version: Type.Integer({ minimum: 1 }) }),
    responses: { 200: Agent },
    summary: 'Make an earlier version current again, as a new version',
  }),
}
