import { type Static, Type } from 'typebox'
import { eventRoutes } from './event-routes.ts'
import { managedThreadAgent } from './managed-agents.ts'
import { managedList, managedPage } from './managed-lists.ts'
import { DialectSessionStatus } from './managed-sessions.ts'
import { named } from './named.ts'
import { route } from './route.ts'
import { DateTime, JsonObject, Nullable } from './schemas.ts'

/** A session, or one that works for it, as a thread of the session. Dialects: section 1.2. */
export const SessionThread = named(
  'SessionThread',
  Type.Object({
    id: Type.String({
      description: 'Id of the session of the thread; that of the session itself for its primary thread',
    }),
    type: Type.Literal('session_thread'),
    session_id: Type.String(),
    parent_thread_id: Nullable(Type.String(), 'The thread that called the agent; null for the primary thread'),
    agent: Type.Object(managedThreadAgent),
    status: DialectSessionStatus,
    stats: Type.Object({
      active_seconds: Type.Number(),
      duration_seconds: Type.Number(),
      startup_seconds: Type.Number(),
    }),
    usage: JsonObject,
    workflow_run_id: Type.Null(),
    created_at: DateTime,
    updated_at: DateTime,
    archived_at: Nullable(DateTime),
  }),
)
export type SessionThread = Static<typeof SessionThread>

const SessionPath = Type.Object({ session_id: Type.String() })
const ThreadPath = Type.Object({
  session_id: Type.String(),
  thread_id: Type.String({ description: 'Id of the session of the thread' }),
})
const base = { access: 'key', errorShape: 'anthropic' } as const

export const threadRoutes = {
  list: route({
    ...base,
    id: 'session_threads.list',
    method: 'GET',
    path: '/v1/sessions/{session_id}/threads',
    params: SessionPath,
    query: Type.Object({
      ...managedPage,
      statuses: Type.Optional(Type.Unknown({ description: 'One or several statuses; also `statuses[]=`' })),
      'statuses[]': Type.Optional(Type.Unknown()),
    }),
    responses: { 200: managedList(SessionThread) },
    summary: 'List the threads of a session',
    description:
      'Lists the primary thread of a session, then those of the agents that were called for it, at every level, oldest first.',
  }),
  get: route({
    ...base,
    id: 'session_threads.get',
    method: 'GET',
    path: '/v1/sessions/{session_id}/threads/{thread_id}',
    params: ThreadPath,
    responses: { 200: SessionThread },
    summary: 'Read a thread',
    description: 'Returns a thread of a session.',
  }),
  archive: route({
    ...base,
    id: 'session_threads.archive',
    method: 'POST',
    path: '/v1/sessions/{session_id}/threads/{thread_id}/archive',
    params: ThreadPath,
    responses: { 200: SessionThread },
    summary: 'Archive a thread',
    description:
      'Closes the thread of a called agent that does not work any more. The primary thread is archived with its session.',
  }),
  events: route({
    ...eventRoutes.list,
    id: 'session_threads.events',
    path: '/v1/sessions/{session_id}/threads/{thread_id}/events',
    params: ThreadPath,
    summary: 'List the events of a thread',
    description: 'Lists the events of one thread, as the list of a session does.',
  }),
  stream: route({
    ...eventRoutes.stream,
    access: 'key',
    id: 'session_threads.stream',
    path: '/v1/sessions/{session_id}/threads/{thread_id}/stream',
    params: ThreadPath,
    query: Type.Omit(eventRoutes.stream.query, ['key', 'ticket']),
    summary: 'Follow the events of a thread',
    description: 'Streams the events of one thread, as the stream of a session does.',
  }),
}
