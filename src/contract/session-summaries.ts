import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { DateTime, NextCursor, Nullable, pageQuery, rangeQuery } from './schemas.ts'
import { SessionStatus } from './session-status.ts'
import { ExactUsd } from './usage.ts'

/** What a session does now, or why it does nothing. */
export const SessionActivity = named(
  'SessionActivity',
  Type.Object({
    kind: Type.Union(
      [
        Type.Literal('queued'),
        Type.Literal('starting'),
        Type.Literal('model'),
        Type.Literal('tool'),
        Type.Literal('working'),
        Type.Literal('approval'),
        Type.Literal('custom_tool'),
        Type.Literal('subagent'),
        Type.Literal('retry'),
        Type.Literal('budget'),
        Type.Literal('freeze'),
        Type.Literal('idle'),
        Type.Literal('failed'),
        Type.Literal('deleted'),
      ],
      {
        description:
          '`model`: a model request is open; `tool`: a tool runs; `working`: between two of them; `approval` to `freeze`: what the run waits for',
      },
    ),
    name: Nullable(Type.String({ description: 'Name of the tool' })),
    since: Nullable(DateTime),
    until: Nullable(DateTime, 'When the wait ends by itself'),
    reason: Nullable(
      Type.String({ description: 'Type of the stop reason of an idle session, or of the error of a failed one' }),
    ),
    message: Nullable(Type.String({ description: 'At most 500 characters' })),
  }),
)
export type SessionActivity = Static<typeof SessionActivity>

/** A session as lists show it. */
export const SessionSummary = named(
  'SessionSummary',
  Type.Object({
    id: Type.String(),
    title: Type.String(),
    owner_id: Type.String(),
    agent_id: Type.String(),
    agent_name: Nullable(Type.String({ description: 'null without an agent, and after its deletion' })),
    agent_version: Nullable(Type.Integer()),
    runtime: Type.String(),
    model: Nullable(Type.String({ description: 'Model of the running, the next or the last prompt' })),
    status: SessionStatus,
    activity: SessionActivity,
    waiting_prompts: Type.Integer(),
    requests: Type.Integer({ description: 'Model calls' }),
    input_tokens: Type.Integer({ description: 'Cached ones included' }),
    cached_tokens: Type.Integer({ description: 'Input tokens that providers read from their caches' }),
    output_tokens: Type.Integer(),
    cost_usd: Nullable(ExactUsd, 'Cost of the calls with a known price; null when no call has one'),
    unpriced_requests: Type.Integer(),
    budget: Nullable(
      Type.Object({
        max_usd: Nullable(ExactUsd),
        spent_usd: ExactUsd,
        reserved_usd: ExactUsd,
        reset_at: Nullable(DateTime),
      }),
      'Own budget of the session; null without one',
    ),
    parent_session_id: Nullable(Type.String()),
    created_at: DateTime,
    updated_at: DateTime,
    started_at: Nullable(DateTime, 'Start of the running prompt'),
    deleted_at: Nullable(DateTime),
  }),
)
export type SessionSummary = Static<typeof SessionSummary>

/** A session with the process that runs it. */
export const SessionDetails = named(
  'SessionDetails',
  Type.Object({
    ...SessionSummary.properties,
    lease: Nullable(
      Type.Object({
        owner: Type.String({ description: 'Process that runs the session; no other may write its log' }),
        expires_at: DateTime,
      }),
      'null while no process runs the session',
    ),
  }),
)
export type SessionDetails = Static<typeof SessionDetails>

const base = { access: 'key', errorShape: 'nested', method: 'GET' } as const

export const summaryList = route({
  ...base,
  id: 'sessions.summaries',
  path: '/api/sessions',
  query: Type.Object({
    ...pageQuery,
    ...rangeQuery,
    agent_id: Type.Optional(Type.String({ maxLength: 200 })),
    owner_id: Type.Optional(Type.String({ maxLength: 200 })),
    status: Type.Optional(SessionStatus),
    q: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: 'Part of the title, without regard to case, or the id',
      }),
    ),
    include_deleted: Type.Optional(Type.Boolean({ description: 'True: also deleted sessions' })),
  }),
  responses: { 200: Type.Object({ sessions: Type.Array(SessionSummary), next_cursor: NextCursor }) },
  summary: 'List sessions with their activity and cost',
  description:
    'Lists sessions, newest first, with what each does now, its waiting prompts, tokens, cost and budget. `from` and `to` are about the creation. A key with an owner sees only that owner’s sessions.',
})

export const summaryOne = route({
  ...base,
  id: 'sessions.summary',
  path: '/api/sessions/{session_id}',
  params: Type.Object({ session_id: Type.String() }),
  responses: { 200: SessionDetails },
  summary: 'Read a session with its activity and cost',
  description:
    'Returns what a session does now, its waiting prompts, tokens, cost and budget, and the lease of the process that runs it; also after its deletion.',
})
