import { type Static, Type } from 'typebox'
import { sessionContext } from './contexts.ts'
import { Metadata, MetadataPatch } from './metadata.ts'
import { named } from './named.ts'
import { SessionRequest } from './new-sessions.ts'
import { LastVerdict } from './outcomes.ts'
import { promptBodyLimit } from './prompt-files.ts'
import { Prompt, PromptRequest } from './prompts.ts'
import { SessionRepository } from './repositories.ts'
import { route } from './route.ts'
import { EpochMs, JsonObject, Name, NextCursor, Nullable, pageQuery, VersionNumber } from './schemas.ts'
import { SessionStatus } from './session-status.ts'
import { summaryList, summaryOne } from './session-summaries.ts'

/** A durable run of an agent. Interface: Resources, Session. */
export const Session = named(
  'Session',
  Type.Object({
    id: Type.String(),
    title: Type.String(),
    agent: Type.String(),
    agent_id: Type.String(),
    agent_version: Nullable(Type.Integer({ description: 'Version of the agent that this session runs' })),
    harness: Type.String({ description: 'Runtime of the session, as `runtime`' }),
    runtime: Type.String(),
    runtime_agent_ref_id: Nullable(Type.String()),
    provider_session_id: Nullable(Type.String()),
    provider_run_id: Nullable(Type.String()),
    status: SessionStatus,
    environment: JsonObject,
    repository: Type.Optional(SessionRepository),
    metadata: Type.Record(Type.String(), Type.String(), { description: 'Names and values that the client chose' }),
    timezone: Nullable(Type.String()),
    forked_from: Nullable(
      Type.Object({
        session_id: Type.String(),
        seq: Type.Integer({ description: 'Last event of that session that was copied' }),
      }),
    ),
    parent_session_id: Nullable(
      Type.String({ description: 'Session whose agent called the agent of this one; null for all others' }),
    ),
    time: Type.Object({ created: EpochMs, updated: EpochMs }),
  }),
)
export type Session = Static<typeof Session>

/** Session with the additional fields of opencode's clients. Dialects: section 2.1. */
export const OpencodeSession = named(
  'OpencodeSession',
  Type.Object({
    ...Session.properties,
    slug: Type.String(),
    projectID: Type.String(),
    directory: Type.String(),
    parentID: Type.Optional(
      Type.String({ description: 'opencode’s name for `parent_session_id`; absent without one' }),
    ),
    version: Type.String(),
  }),
)
export type OpencodeSession = Static<typeof OpencodeSession>

export const SandboxStatus = named(
  'SandboxStatus',
  Type.Union([Type.Literal('none'), Type.Literal('running'), Type.Literal('stopped'), Type.Literal('dead')]),
)
export type SandboxStatus = Static<typeof SandboxStatus>

/** Session with the state of its sandbox, as the managed-agents paths return it. */
export const ManagedSession = named(
  'ManagedSession',
  Type.Object({
    ...Session.properties,
    sandbox_status: SandboxStatus,
    workspace: Nullable(Type.String({ description: 'Folder of the session’s files on the server' })),
  }),
)
export type ManagedSession = Static<typeof ManagedSession>

/** Message in opencode's format. Dialects: section 2.1. */
export const OpencodeMessage = named(
  'OpencodeMessage',
  Type.Object({ info: JsonObject, parts: Type.Array(JsonObject) }),
)
export type OpencodeMessage = Static<typeof OpencodeMessage>

/** The answer to a prompt. */
const AnsweredMessage = named(
  'AnsweredMessage',
  Type.Object({
    ...OpencodeMessage.properties,
    result: Type.Optional(Type.Unknown({ description: 'Answer that matches `output_schema`, if there is one' })),
    outcome: Type.Optional(LastVerdict),
  }),
)
export type AnsweredMessage = Static<typeof AnsweredMessage>

/** Position of a fork, with agent, model and runtime of the new session. */
export const ForkRequest = named(
  'ForkRequest',
  Type.Object({
    messageID: Type.Optional(
      Type.String({ maxLength: 200, description: 'Copies the events before this message, as opencode does' }),
    ),
    event_id: Type.Optional(
      Type.String({
        maxLength: 200,
        description: 'Copies the events up to and including this one; the whole log by default',
      }),
    ),
    agent_id: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    version: Type.Optional(VersionNumber('Version of the agent')),
    model: Type.Optional(
      Type.String({ minLength: 1, maxLength: 200, description: 'Model of prompts that do not name one' }),
    ),
    runtime: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    title: Type.Optional(Name),
  }),
)
export type ForkRequest = Static<typeof ForkRequest>

const SessionPath = Type.Object({ session_id: Type.String() })
const nested = { access: 'key', errorShape: 'nested' } as const
const plain = { access: 'key', errorShape: 'plain' } as const
const listFilter = {
  ...pageQuery,
  agent_id: Type.Optional(Type.String({ maxLength: 200 })),
  status: Type.Optional(SessionStatus),
  q: Type.Optional(
    Type.String({ minLength: 1, maxLength: 200, description: 'Part of the title, without regard to case, or the id' }),
  ),
  metadata: Type.Optional(Metadata),
}
/** Parameters that opencode's clients add to every call; they have no effect. */
const opencodeQuery = { directory: Type.Optional(Type.String()), workspace: Type.Optional(Type.String()) }

export const sessionRoutes = {
  create: route({
    ...nested,
    id: 'sessions.create',
    unknownFields: 'reported',
    method: 'POST',
    path: '/session',
    body: SessionRequest,
    bodyOptional: true,
    responses: { 200: OpencodeSession },
    summary: 'Create a session',
    description:
      'Creates a session of an agent or of a runtime. With `prompt` the first run starts at once. Accepts `Idempotency-Key`.',
  }),
  list: route({
    ...nested,
    id: 'sessions.list',
    method: 'GET',
    path: '/session',
    query: Type.Object({ ...listFilter, ...opencodeQuery }),
    responses: { 200: Type.Array(OpencodeSession) },
    summary: 'List sessions',
    description:
      'Lists sessions, newest first. The header `x-next-cursor` has the next page, because opencode’s clients expect an array. `q`, `status`, `agent_id` and `metadata` filter.',
  }),
  get: route({
    ...nested,
    id: 'sessions.get',
    method: 'GET',
    path: '/session/{session_id}',
    params: SessionPath,
    responses: { 200: OpencodeSession },
    summary: 'Read a session',
    description: 'Returns a session. Deleted sessions answer 404.',
  }),
  children: route({
    ...nested,
    id: 'sessions.children',
    method: 'GET',
    path: '/session/{session_id}/children',
    params: SessionPath,
    query: Type.Object({ ...pageQuery, ...opencodeQuery }),
    responses: { 200: Type.Array(OpencodeSession) },
    summary: 'List the sessions of called agents',
    description:
      'Lists the sessions that calls of other agents have started from this one, newest first. The header `x-next-cursor` has the next page. A deleted session has no children: they are deleted with it.',
  }),
  update: route({
    ...nested,
    id: 'sessions.update',
    unknownFields: 'reported',
    method: 'PATCH',
    path: '/session/{session_id}',
    params: SessionPath,
    body: Type.Object({ title: Type.Optional(Name), metadata: Type.Optional(Nullable(MetadataPatch)) }),
    responses: { 200: OpencodeSession },
    summary: 'Update a session',
    description: 'Changes the title or the metadata. A metadata value of null removes its name.',
  }),
  remove: route({
    ...nested,
    id: 'sessions.remove',
    method: 'DELETE',
    path: '/session/{session_id}',
    params: SessionPath,
    responses: { 200: Type.Boolean() },
    summary: 'Delete a session',
    description:
      'Stops its run, removes its sandbox and closes its streams. The sessions of agents that it called are deleted with it. Its events stay readable for `retention.deleted_sessions` (7 days by default).',
  }),
  fork: route({
    ...nested,
    id: 'sessions.fork',
    unknownFields: 'reported',
    method: 'POST',
    path: '/session/{session_id}/fork',
    params: SessionPath,
    body: ForkRequest,
    bodyOptional: true,
    responses: { 200: OpencodeSession },
    summary: 'Fork a session',
    description:
      'Creates a session with the log and the files of this one up to a message or an event, on the same or another agent, model or runtime. Accepts `Idempotency-Key`.',
  }),
  promptAsync: route({
    ...nested,
    id: 'sessions.prompt_async',
    unknownFields: 'reported',
    method: 'POST',
    path: '/session/{session_id}/prompt_async',
    params: SessionPath,
    bodyLimit: promptBodyLimit,
    body: PromptRequest,
    responses: { 204: null },
    summary: 'Queue a prompt',
    description:
      'Stores a prompt and answers 204. The prompt then survives any crash. `mode` decides what happens while another prompt runs: `enqueue`, `reject` (409), `interrupt` or `steer`. Accepts `Idempotency-Key`; a repeated `messageID` queues nothing.',
  }),
  abort: route({
    ...nested,
    id: 'sessions.abort',
    method: 'POST',
    path: '/session/{session_id}/abort',
    params: SessionPath,
    responses: { 200: Type.Boolean() },
    summary: 'Interrupt the running prompt',
    description:
      'Stops the running prompt; queued prompts continue. The same as `interrupt`, with the answer that opencode’s clients expect.',
  }),
  interrupt: route({
    ...nested,
    id: 'sessions.interrupt',
    method: 'POST',
    path: '/session/{session_id}/interrupt',
    params: SessionPath,
    responses: { 204: null },
    summary: 'Interrupt the running prompt',
    description: 'Stops the running prompt; queued prompts continue. Has no effect on an idle session.',
  }),
  compact: route({
    ...nested,
    id: 'sessions.compact',
    method: 'POST',
    path: '/session/{session_id}/compact',
    params: SessionPath,
    responses: { 202: Type.Object({ prompt_id: Type.String({ description: 'Id of the queued compaction' }) }) },
    summary: 'Compact the conversation',
    description:
      'Queues a compaction: the model summarises the conversation and later prompts continue from the summary. Answers 409 when the runtime manages its own context.',
  }),
  messages: route({
    ...nested,
    id: 'sessions.messages',
    method: 'GET',
    path: '/session/{session_id}/message',
    params: SessionPath,
    query: Type.Object({ limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })), ...opencodeQuery }),
    responses: { 200: Type.Array(OpencodeMessage) },
    summary: 'List messages',
    description: 'Returns the conversation as messages with parts, in opencode’s shape.',
  }),
  message: route({
    ...nested,
    id: 'sessions.message',
    unknownFields: 'reported',
    method: 'POST',
    path: '/session/{session_id}/message',
    params: SessionPath,
    bodyLimit: promptBodyLimit,
    body: PromptRequest,
    responses: { 200: AnsweredMessage },
    summary: 'Prompt and wait for the answer',
    description:
      'Queues a prompt and answers when its run has ended. When the connection breaks, the run continues. Accepts `Idempotency-Key`.',
  }),
  prompts: route({
    ...nested,
    id: 'sessions.prompts',
    method: 'GET',
    path: '/session/{session_id}/prompts',
    params: SessionPath,
    query: Type.Object({ ...pageQuery }),
    responses: { 200: Type.Object({ data: Type.Array(Prompt), next_cursor: NextCursor }) },
    summary: 'List prompts',
    description: 'Lists the prompts of a session in the order of execution, with their state.',
  }),
  withdraw: route({
    ...nested,
    id: 'sessions.withdraw',
    method: 'DELETE',
    path: '/session/{session_id}/prompts/{prompt_id}',
    params: Type.Object({ session_id: Type.String(), prompt_id: Type.String() }),
    responses: { 204: null },
    summary: 'Withdraw a prompt',
    description: 'Removes a prompt that has not started. Answers 409 once it runs.',
  }),
  summaries: summaryList,
  summary: summaryOne,
  context: sessionContext,
  managedList: route({
    ...plain,
    id: 'managed_sessions.list',
    method: 'GET',
    path: '/api/v1/managed_agents/sessions',
    query: Type.Object(listFilter),
    responses: { 200: Type.Object({ data: Type.Array(ManagedSession), next_cursor: NextCursor }) },
    summary: 'List sessions with sandbox state',
    description: 'Lists sessions with the state of their sandbox, deleted ones included.',
  }),
  managedGet: route({
    ...plain,
    id: 'managed_sessions.get',
    method: 'GET',
    path: '/api/v1/managed_agents/sessions/{session_id}',
    params: SessionPath,
    responses: { 200: ManagedSession },
    summary: 'Read a session with sandbox state',
    description: 'Returns one session with the state of its sandbox, also after its deletion.',
  }),
  managedRemove: route({
    ...plain,
    id: 'managed_sessions.remove',
    method: 'DELETE',
    path: '/api/v1/managed_agents/sessions/{session_id}',
    params: SessionPath,
    responses: { 204: null },
    summary: 'Delete a session',
    description: 'Deletes a session. Repeating the request succeeds.',
  }),
}
