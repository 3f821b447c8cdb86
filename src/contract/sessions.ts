import { type Static, Type } from 'typebox'
import { route } from './route.ts'
import { EpochMs, JsonObject, Name, NextCursor, Nullable, pageQuery } from './schemas.ts'

export const SessionStatus = Type.Union([
  Type.Literal('pending'),
  Type.Literal('running'),
  Type.Literal('idle'),
  Type.Literal('error'),
])
export type SessionStatus = Static<typeof SessionStatus>

/** A durable run of an agent. Interface: Resources, Session. */
export const Session = Type.Object({
  id: Type.String(),
  title: Type.String(),
  agent: Type.String(),
  agent_id: Type.String(),
  agent_version: Nullable(Type.Integer({ description: 'The version of the agent that this session runs' })),
  harness: Type.String({ description: 'The runtime that it runs on, as `runtime`' }),
  runtime: Type.String(),
  runtime_agent_ref_id: Nullable(Type.String()),
  provider_session_id: Nullable(Type.String()),
  provider_run_id: Nullable(Type.String()),
  status: SessionStatus,
  environment: JsonObject,
  timezone: Nullable(Type.String()),
  time: Type.Object({ created: EpochMs, updated: EpochMs }),
})
export type Session = Static<typeof Session>

/** The session with what opencode's clients read besides. Dialects: section 2.1. */
export const OpencodeSession = Type.Object({
  ...Session.properties,
  slug: Type.String(),
  projectID: Type.String(),
  directory: Type.String(),
  version: Type.String(),
})
export type OpencodeSession = Static<typeof OpencodeSession>

export const SandboxStatus = Type.Union([
  Type.Literal('none'),
  Type.Literal('running'),
  Type.Literal('stopped'),
  Type.Literal('dead'),
])
export type SandboxStatus = Static<typeof SandboxStatus>

/** The session with the state of its sandbox, as the managed-agents paths show it. */
export const ManagedSession = Type.Object({
  ...Session.properties,
  sandbox_status: SandboxStatus,
  workspace: Nullable(Type.String({ description: 'Folder of the session’s files on the server' })),
})
export type ManagedSession = Static<typeof ManagedSession>

const Text = Type.String({ maxLength: 1_000_000, pattern: '\\S' })

export const SessionCreate = Type.Object({
  title: Type.Optional(Type.String({ maxLength: 200 })),
  agent: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Agent id or harness alias' })),
  agent_id: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  agent_version: Type.Optional(
    Type.Integer({ minimum: 1, description: 'The version to run; the pinned or the current one by default' }),
  ),
  harness: Type.Optional(Type.String({ maxLength: 200, description: 'Twin of `runtime`, which wins' })),
  runtime: Type.Optional(Type.String({ maxLength: 200, description: 'Built-in runtime id or harness alias' })),
  model: Type.Optional(
    Type.String({ maxLength: 200, description: 'Model of the initial prompt; the agent’s by default' }),
  ),
  prompt: Type.Optional(Text),
  environment: Type.Optional(JsonObject),
  timezone: Type.Optional(Type.String({ maxLength: 100, description: 'IANA time zone name' })),
  tz: Type.Optional(Type.String({ maxLength: 100, description: 'Twin of `timezone`, which wins' })),
})
export type SessionCreate = Static<typeof SessionCreate>

/** As opencode's clients name a model in a new session. */
const OpencodeModel = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' }),
  providerID: Type.Optional(Type.String({ maxLength: 200 })),
})

const { properties: created } = SessionCreate

/** What a new session is made of, with the model in our words or in opencode's. Null means absent. */
const SessionRequest = Type.Object({
  title: Type.Optional(Nullable(created.title)),
  agent: Type.Optional(Nullable(created.agent)),
  agent_id: Type.Optional(Nullable(created.agent_id)),
  agent_version: Type.Optional(Nullable(created.agent_version)),
  harness: Type.Optional(Nullable(created.harness)),
  runtime: Type.Optional(Nullable(created.runtime)),
  model: Type.Optional(Type.Union([created.model, OpencodeModel, Type.Null()])),
  prompt: Type.Optional(Nullable(created.prompt)),
  environment: Type.Optional(Nullable(created.environment)),
  timezone: Type.Optional(Nullable(created.timezone)),
  tz: Type.Optional(Nullable(created.tz)),
})

export const PromptMode = Type.Union([
  Type.Literal('enqueue'),
  Type.Literal('reject'),
  Type.Literal('interrupt'),
  Type.Literal('steer'),
])
export type PromptMode = Static<typeof PromptMode>

export const PromptPart = Type.Object({ type: Type.Literal('text'), text: Text })
export type PromptPart = Static<typeof PromptPart>

/** Interface: Resources, Prompt request. */
export const PromptRequest = Type.Object({
  model: Type.Optional(
    Type.Object(
      {
        modelID: Type.String({ minLength: 1, maxLength: 200, pattern: '\\S' }),
        providerID: Type.Optional(Type.String({ maxLength: 200 })),
      },
      { description: 'Required on prompt_async; elsewhere the agent’s by default' },
    ),
  ),
  parts: Type.Array(PromptPart, { minItems: 1, maxItems: 1000 }),
  messageID: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'Repeating it queues nothing' })),
  system: Type.Optional(Type.String({ maxLength: 1_000_000, description: 'System prompt of this prompt alone' })),
  mode: Type.Optional(PromptMode),
  noReply: Type.Optional(Type.Boolean({ description: 'True is refused: each prompt has an answer' })),
  tools: Type.Optional(
    Type.Record(Type.String(), Type.Boolean(), { description: 'Refused unless empty: tools are those of the agent' }),
  ),
})
export type PromptRequest = Static<typeof PromptRequest>

export const PromptState = Type.Union([
  Type.Literal('waiting'),
  Type.Literal('running'),
  Type.Literal('done'),
  Type.Literal('error'),
  Type.Literal('cancelled'),
])
export type PromptState = Static<typeof PromptState>

/** One prompt of a session's queue. `position` is its place in the order of execution. */
export const Prompt = Type.Object({
  id: Type.String(),
  position: Type.Integer(),
  state: PromptState,
  held_by: Nullable(
    Type.Literal('budget', { description: 'A budget stopped it; it goes on by itself once there is room' }),
  ),
  parts: Type.Array(PromptPart),
  model: Type.String(),
  created_at: Type.String({ format: 'date-time' }),
})
export type Prompt = Static<typeof Prompt>

/** One message in opencode's shape. Dialects: section 2.1. */
export const OpencodeMessage = Type.Object({ info: JsonObject, parts: Type.Array(JsonObject) })
export type OpencodeMessage = Static<typeof OpencodeMessage>

const SessionPath = Type.Object({ session_id: Type.String() })
const nested = { access: 'key', errorShape: 'nested' } as const
const plain = { access: 'key', errorShape: 'plain' } as const
const listFilter = {
  ...pageQuery,
  agent_id: Type.Optional(Type.String({ maxLength: 200 })),
  status: Type.Optional(SessionStatus),
}
/** opencode clients add these to every call; they change nothing. */
const opencodeQuery = { directory: Type.Optional(Type.String()), workspace: Type.Optional(Type.String()) }

export const sessionRoutes = {
  create: route({
    ...nested,
    id: 'sessions.create',
    unknownFields: 'named',
    method: 'POST',
    path: '/session',
    body: SessionRequest,
    bodyOptional: true,
    responses: { 200: OpencodeSession },
    summary: 'Create a session; with `prompt` it starts at once',
  }),
  list: route({
    ...nested,
    id: 'sessions.list',
    method: 'GET',
    path: '/session',
    query: Type.Object({ ...listFilter, ...opencodeQuery }),
    responses: { 200: Type.Array(OpencodeSession) },
    summary: 'List sessions, newest first; the next cursor is in the header x-next-cursor',
  }),
  get: route({
    ...nested,
    id: 'sessions.get',
    method: 'GET',
    path: '/session/{session_id}',
    params: SessionPath,
    responses: { 200: OpencodeSession },
    summary: 'Read one session',
  }),
  update: route({
    ...nested,
    id: 'sessions.update',
    unknownFields: 'named',
    method: 'PATCH',
    path: '/session/{session_id}',
    params: SessionPath,
    body: Type.Object({ title: Type.Optional(Name) }),
    responses: { 200: OpencodeSession },
    summary: 'Give a session another title',
  }),
  remove: route({
    ...nested,
    id: 'sessions.remove',
    method: 'DELETE',
    path: '/session/{session_id}',
    params: SessionPath,
    responses: { 200: Type.Boolean() },
    summary: 'Delete a session: stop its work, remove its sandbox, keep its log',
  }),
  promptAsync: route({
    ...nested,
    id: 'sessions.prompt_async',
    unknownFields: 'named',
    method: 'POST',
    path: '/session/{session_id}/prompt_async',
    params: SessionPath,
    body: PromptRequest,
    responses: { 204: null },
    summary: 'Queue a prompt; 204 once it is stored',
  }),
  abort: route({
    ...nested,
    id: 'sessions.abort',
    method: 'POST',
    path: '/session/{session_id}/abort',
    params: SessionPath,
    responses: { 200: Type.Boolean() },
    summary: 'Stop the running prompt; those that wait go on',
  }),
  interrupt: route({
    ...nested,
    id: 'sessions.interrupt',
    method: 'POST',
    path: '/session/{session_id}/interrupt',
    params: SessionPath,
    responses: { 204: null },
    summary: 'Stop the running prompt; those that wait go on',
  }),
  messages: route({
    ...nested,
    id: 'sessions.messages',
    method: 'GET',
    path: '/session/{session_id}/message',
    params: SessionPath,
    query: Type.Object({ limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })), ...opencodeQuery }),
    responses: { 200: Type.Array(OpencodeMessage) },
    summary: 'The conversation as messages with parts',
  }),
  message: route({
    ...nested,
    id: 'sessions.message',
    unknownFields: 'named',
    method: 'POST',
    path: '/session/{session_id}/message',
    params: SessionPath,
    body: PromptRequest,
    responses: { 200: OpencodeMessage },
    summary: 'Queue a prompt and wait for its answer',
  }),
  prompts: route({
    ...nested,
    id: 'sessions.prompts',
    method: 'GET',
    path: '/session/{session_id}/prompts',
    params: SessionPath,
    query: Type.Object({ ...pageQuery }),
    responses: { 200: Type.Object({ data: Type.Array(Prompt), next_cursor: NextCursor }) },
    summary: 'The prompt queue, in order of execution',
  }),
  withdraw: route({
    ...nested,
    id: 'sessions.withdraw',
    method: 'DELETE',
    path: '/session/{session_id}/prompts/{prompt_id}',
    params: Type.Object({ session_id: Type.String(), prompt_id: Type.String() }),
    responses: { 204: null },
    summary: 'Withdraw a prompt that has not started',
  }),
  managedList: route({
    ...plain,
    id: 'managed_sessions.list',
    method: 'GET',
    path: '/api/v1/managed_agents/sessions',
    query: Type.Object(listFilter),
    responses: { 200: Type.Object({ data: Type.Array(ManagedSession), next_cursor: NextCursor }) },
    summary: 'List sessions with their sandbox state, deleted ones included',
  }),
  managedGet: route({
    ...plain,
    id: 'managed_sessions.get',
    method: 'GET',
    path: '/api/v1/managed_agents/sessions/{session_id}',
    params: SessionPath,
    responses: { 200: ManagedSession },
    summary: 'Read one session with its sandbox state, also after deletion',
  }),
  managedRemove: route({
    ...plain,
    id: 'managed_sessions.remove',
    method: 'DELETE',
    path: '/api/v1/managed_agents/sessions/{session_id}',
    params: SessionPath,
    responses: { 204: null },
    summary: 'Delete a session; repeating it succeeds',
  }),
}
