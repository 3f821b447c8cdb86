import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { Empty, opencodeRoute, read } from './opencode-route.ts'
import { route } from './route.ts'
import { JsonObject } from './schemas.ts'
import { OpencodeMessage } from './sessions.ts'

/** Answer to a tool call that requires approval. `always` counts as `once`: the next call requires approval again. */
const Reply = named('OpencodeReply', Type.Union([Type.Literal('once'), Type.Literal('always'), Type.Literal('reject')]))

/** Tool call that requires approval, in opencode's format. Dialects: section 2.3. */
export const OpencodePermission = named(
  'OpencodePermission',
  Type.Object({
    id: Type.String({ description: 'Id of the approval' }),
    sessionID: Type.String(),
    permission: Type.String({ description: 'Name of the tool' }),
    patterns: Type.Array(Type.String()),
    metadata: JsonObject,
    always: Type.Array(Type.String()),
    tool: Type.Optional(Type.Object({ messageID: Type.String(), callID: Type.String() })),
  }),
)
export type OpencodePermission = Static<typeof OpencodePermission>

export const OpencodeStatus = named(
  'OpencodeStatus',
  Type.Object({ type: Type.Union([Type.Literal('idle'), Type.Literal('busy')]) }),
)

const SessionPath = Type.Object({ session_id: Type.String() })

/** Events, states, permissions and messages of sessions. */
export const opencodeSessionRoutes = {
  events: route({
    ...opencodeRoute,
    id: 'opencode.events',
    method: 'GET',
    path: '/event',
    responses: { 200: Type.String({ description: 'Server-sent events with `data` lines only, without replay' }) },
    produces: 'text/event-stream',
    summary: 'Follow the events of all sessions',
    description: 'Streams the events of all sessions that the key may see, in opencode’s event types.',
  }),
  globalEvents: route({
    ...opencodeRoute,
    id: 'opencode.global_events',
    method: 'GET',
    path: '/global/event',
    responses: { 200: Type.String({ description: 'As /event, each event in an envelope with its folder' }) },
    produces: 'text/event-stream',
    summary: 'Follow all events in an envelope',
    description: 'Like `/event`, each event in an envelope with its directory.',
  }),
  health: read({
    id: 'health',
    path: '/global/health',
    answer: Type.Object({ healthy: Type.Literal(true), version: Type.String() }),
    summary: 'Check health',
    description: 'Returns `healthy` and the version.',
  }),
  statuses: read({
    id: 'statuses',
    path: '/session/status',
    answer: Type.Record(Type.String(), OpencodeStatus),
    summary: 'List session states',
    description: 'Returns the sessions that run or retry, by id. A session that is absent is idle.',
  }),
  permissions: read({
    id: 'permissions',
    path: '/permission',
    answer: Type.Array(OpencodePermission),
    summary: 'List pending permissions',
    description: 'Lists the tool calls that wait for a person.',
  }),
  reply: route({
    ...opencodeRoute,
    id: 'opencode.reply',
    unknownFields: 'reported',
    method: 'POST',
    path: '/permission/{request_id}/reply',
    params: Type.Object({ request_id: Type.String() }),
    body: Type.Object({ reply: Reply, message: Type.Optional(Type.String({ maxLength: 10_000 })) }),
    responses: { 200: Type.Boolean() },
    summary: 'Answer a permission request',
    description: 'Allows or denies a tool call.',
  }),
  answer: route({
    ...opencodeRoute,
    id: 'opencode.answer',
    unknownFields: 'reported',
    method: 'POST',
    path: '/session/{session_id}/permissions/{permission_id}',
    params: Type.Object({ session_id: Type.String(), permission_id: Type.String() }),
    body: Type.Object({ response: Reply }),
    responses: { 200: Type.Boolean() },
    summary: 'Answer a permission request (older clients)',
    description: 'Allows or denies a tool call of a session, on the path of older clients.',
  }),
  message: route({
    ...opencodeRoute,
    id: 'opencode.message',
    method: 'GET',
    path: '/session/{session_id}/message/{message_id}',
    params: Type.Object({ session_id: Type.String(), message_id: Type.String() }),
    responses: { 200: OpencodeMessage },
    summary: 'Read a message',
    description: 'Returns one message of a session with its parts.',
  }),
  summarize: route({
    ...opencodeRoute,
    id: 'opencode.summarize',
    unknownFields: 'reported',
    method: 'POST',
    path: '/session/{session_id}/summarize',
    params: SessionPath,
    body: Type.Object({
      providerID: Type.Optional(Type.String({ maxLength: 200 })),
      modelID: Type.Optional(
        Type.String({ minLength: 1, maxLength: 200, pattern: '\\S', description: 'The agent’s by default' }),
      ),
    }),
    bodyOptional: true,
    responses: { 200: Type.Boolean() },
    summary: 'Compact the conversation and wait',
    description:
      'Compacts the conversation of an idle session and answers when it is done. Answers 409 while a prompt runs.',
  }),
  todo: route({
    ...opencodeRoute,
    id: 'opencode.todo',
    method: 'GET',
    path: '/session/{session_id}/todo',
    params: SessionPath,
    responses: { 200: Empty },
    summary: 'List the tasks of a session',
    description: 'Returns an empty list: the list of `todo_write` is in the events of the session.',
  }),
  diff: route({
    ...opencodeRoute,
    id: 'opencode.diff',
    method: 'GET',
    path: '/session/{session_id}/diff',
    params: SessionPath,
    responses: { 200: Empty },
    summary: 'List changed files',
    description: 'Returns an empty list: use `GET /api/sessions/{session_id}/diff`.',
  }),
}
