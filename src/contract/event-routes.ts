import { type Static, Type } from 'typebox'
import { EditedInput, Verdict } from './approvals.ts'
import { customToolAnswer } from './custom-tools.ts'
import { SessionEvent } from './events.ts'
import { Metadata } from './metadata.ts'
import { named } from './named.ts'
import { DefineOutcome } from './outcomes.ts'
import { DocumentWrite, FilePartWrite, ImageWrite, promptBodyLimit } from './prompt-files.ts'
import { route } from './route.ts'
import { DateTime, Nullable } from './schemas.ts'

const SessionPath = Type.Object({ session_id: Type.String() })
const Digits = Type.String({ pattern: '^[0-9]{1,15}$' })
const Bool = Type.Union([Type.Boolean(), Type.Literal(1), Type.Literal(0)])

/** Content of a client's message: texts, and files in our format or the dialect's. */
const UserContent = named(
  'UserContent',
  Type.Union([
    Type.Object({ type: Type.Literal('text'), text: Type.String({ pattern: '\\S', maxLength: 1_000_000 }) }),
    FilePartWrite,
    ImageWrite,
    DocumentWrite,
  ]),
)
export type UserContent = Static<typeof UserContent>

/** Message of a client. */
export const UserMessage = named(
  'UserMessage',
  Type.Object({
    type: Type.Literal('user.message'),
    content: Type.Array(UserContent, { minItems: 1, maxItems: 1000 }),
  }),
)

const Thread = Type.Optional(
  Nullable(
    Type.String({
      maxLength: 200,
      description: 'The called session that the event is for; absent: the one that asks, for an interrupt this one',
    }),
  ),
)

const SentEvent = named(
  'SentEvent',
  Type.Union([
    UserMessage,
    DefineOutcome,
    Type.Object({ type: Type.Literal('user.interrupt'), session_thread_id: Thread }),
    Type.Object({
      type: Type.Literal('user.tool_confirmation'),
      tool_use_id: Type.String({
        maxLength: 200,
        description: 'Id of the `agent.tool_use` event, or of the runtime’s call',
      }),
      result: Verdict,
      deny_message: Type.Optional(Nullable(Type.String({ maxLength: 10_000 }))),
      input: Type.Optional(EditedInput),
      session_thread_id: Thread,
    }),
    Type.Object({
      type: Type.Literal('user.custom_tool_result'),
      custom_tool_use_id: Type.String({
        maxLength: 200,
        description: 'Id of the `agent.custom_tool_use` event, or of the runtime’s call',
      }),
      ...customToolAnswer,
      session_thread_id: Thread,
    }),
  ]),
)
export type SentEvent = Static<typeof SentEvent>

export const eventRoutes = {
  list: route({
    id: 'events.list',
    method: 'GET',
    path: '/v1/sessions/{session_id}/events',
    access: 'key',
    errorShape: 'anthropic',
    params: SessionPath,
    query: Type.Object({
      after: Type.Optional(Digits),
      page: Type.Optional(Digits),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 100 })),
      order: Type.Optional(Type.Union([Type.Literal('asc'), Type.Literal('desc')])),
      types: Type.Optional(Type.Unknown({ description: 'One or several types; also `types[]=`' })),
      wait: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: 60,
          description: 'Seconds to wait for an event when the list would be empty',
        }),
      ),
      'types[]': Type.Optional(Type.Unknown()),
      'created_at[gt]': Type.Optional(DateTime),
      'created_at[gte]': Type.Optional(DateTime),
      'created_at[lt]': Type.Optional(DateTime),
      'created_at[lte]': Type.Optional(DateTime),
      beta: Type.Optional(Type.Unknown()),
    }),
    responses: { 200: Type.Object({ data: Type.Array(SessionEvent), next_page: Nullable(Type.String()) }) },
    summary: 'List events',
    description:
      'Lists the events of a session. `after` is the last sequence number that the client has; `wait` holds the request until an event arrives. `created_at` filters by the time that events show as `processed_at`.',
  }),
  send: route({
    id: 'events.send',
    unknownFields: 'reported',
    method: 'POST',
    path: '/v1/sessions/{session_id}/events',
    access: 'key',
    errorShape: 'anthropic',
    bodyLimit: promptBodyLimit,
    params: SessionPath,
    body: Type.Object({ events: Type.Array(SentEvent, { minItems: 1, maxItems: 100 }) }),
    responses: { 200: Type.Object({ data: Type.Array(SessionEvent) }) },
    summary: 'Send events',
    description:
      'Stores user events: a message, an outcome, an interrupt, the answer to a tool call that requires approval, or the result of a custom tool. The response contains them as stored.',
  }),
  ticket: route({
    id: 'events.ticket',
    isRead: true,
    method: 'POST',
    path: '/v1/sessions/{session_id}/events/tickets',
    access: 'key',
    errorShape: 'anthropic',
    params: SessionPath,
    responses: { 201: Type.Object({ ticket: Type.String(), expires_at: Type.String({ format: 'date-time' }) }) },
    summary: 'Create a stream ticket',
    description:
      'Returns a ticket that opens the stream of this session once within 60 s, as `?ticket=`. For browsers, which must not carry keys in addresses.',
  }),
  feed: route({
    id: 'events.feed',
    method: 'GET',
    path: '/v1/events/stream',
    access: 'key-or-query',
    errorShape: 'anthropic',
    query: Type.Object({
      agent_id: Type.Optional(Type.String({ maxLength: 200, description: 'Only sessions of this agent' })),
      metadata: Type.Optional(Metadata),
      after: Type.Optional(
        Type.String({ maxLength: 200, description: 'Id of the last frame that the client received' }),
      ),
      from: Type.Optional(Type.Literal('start', { description: 'Begins with all stored events' })),
      key: Type.Optional(Type.String()),
    }),
    responses: {
      200: Type.String({
        description: 'Server-sent events, each with its `session_id`: `id` is a cursor, `event` the type',
      }),
    },
    produces: 'text/event-stream',
    summary: 'Follow the events of all sessions',
    description:
      'Streams the events of all sessions that the key may see, from now on. `Last-Event-ID` or `after` resumes without a gap; `from=start` begins with all stored events.',
  }),
  stream: route({
    id: 'events.stream',
    method: 'GET',
    path: '/v1/sessions/{session_id}/events/stream',
    access: 'key-or-query',
    errorShape: 'anthropic',
    params: SessionPath,
    query: Type.Object({
      after: Type.Optional(Digits),
      from: Type.Optional(Type.Literal('tail')),
      event_deltas: Type.Optional(Type.Union([Bool, Type.Array(Type.String()), Type.String()])),
      'event_deltas[]': Type.Optional(Type.Unknown()),
      key: Type.Optional(Type.String()),
      ticket: Type.Optional(Type.String()),
      beta: Type.Optional(Type.Unknown()),
    }),
    responses: { 200: Type.String({ description: 'Server-sent events: `id` is the sequence, `event` the type' }) },
    produces: 'text/event-stream',
    summary: 'Follow the events of a session',
    description:
      'Streams the events of a session from its first, or from now on with the `managed-agents` beta header or `from=tail`. `Last-Event-ID` resumes without a gap. `event_deltas` adds previews of texts while a model writes them.',
  }),
}
