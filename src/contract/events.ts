import { type Static, Type } from 'typebox'
import { Verdict } from './approvals.ts'
import { Metadata } from './metadata.ts'
import { named } from './named.ts'
import { route } from './route.ts'
import { DateTime, Nullable } from './schemas.ts'

/** A stored event of a session: these four fields, then the payload of its type. Dialects: section 1.6. */
export const SessionEvent = named(
  'SessionEvent',
  Type.Object(
    {
      id: Type.String(),
      type: Type.String(),
      processed_at: Type.String({ format: 'date-time' }),
      seq: Type.Integer({ description: '1, 2, 3 ... without a gap, the same in list and stream' }),
    },
    { additionalProperties: true },
  ),
)
export type SessionEvent = Static<typeof SessionEvent> & { readonly [field: string]: unknown }

export interface TextBlock {
  readonly type: 'text'
  readonly text: string
}

/** An event before it is stored: the log adds `id`, `seq` and `processed_at`. */
export type NewEvent = { readonly id?: string; readonly type: string; readonly [field: string]: unknown }

/** Types after which no prompt runs until the next `session.status_running`. */
export function endsRun(event: { readonly type: string; readonly [field: string]: unknown }): boolean {
  if (event.type === 'session.status_idle') return awaitedApprovals(event).length === 0
  if (event.type === 'session.deleted') return true
  if (event.type !== 'session.error') return false
  const error = event['error'] as { retry_status?: { type?: string } } | undefined
  return error?.retry_status?.type !== 'retrying'
}

/** Returns the ids of the `agent.tool_use` events that wait for a person since this event; empty for other events. */
export function awaitedApprovals(event: {
  readonly type: string
  readonly [field: string]: unknown
}): readonly string[] {
  if (event.type !== 'session.status_idle') return []
  const reason = event['stop_reason'] as { readonly type?: string; readonly event_ids?: unknown } | null | undefined
  return reason?.type === 'requires_action' && Array.isArray(reason.event_ids) ? reason.event_ids.map(String) : []
}

/** `session.prompt_ended`: the end of a prompt that no status event reports. */
export interface PromptEnded {
  readonly prompt_id: string
  /** Run that the prompt was part of; null when the prompt never started. */
  readonly run_id: string | null
  readonly state: 'done' | 'error' | 'cancelled'
  /** `steered`: it had joined the turn of another prompt; `interrupted`: that turn was stopped; `forked`: the fork did not copy it. */
  readonly reason: 'withdrawn' | 'deleted' | 'steered' | 'interrupted' | 'forked'
}

/** `stop_reason` of a session that a budget or a freeze stopped. The session resumes once the budget has room or the freeze is lifted. */
export interface BudgetReached {
  readonly type: 'budget_reached'
  /** Owner of the budget or the freeze; `all` occurs only with freezes. */
  readonly scope: 'key' | 'owner' | 'agent' | 'session' | 'all'
  /** Empty for `all`. */
  readonly scope_id: string
  /** True for a freeze; absent for a budget. */
  readonly is_frozen?: true
  /** Limit of the period in US dollars. */
  readonly max_usd: number | null
  /** Highest possible cost of the rejected model call in US dollars. */
  readonly needed_usd: number | null
  /** End of the period; null for a budget that never resets. */
  readonly resets_at: string | null
}

/** Returns the stop reason of a run that a budget stopped; undefined for other events. */
export function budgetReached(event: {
  readonly type: string
  readonly [field: string]: unknown
}): BudgetReached | undefined {
  if (event.type !== 'session.status_idle') return undefined
  const reason = event['stop_reason'] as { readonly type?: string } | null | undefined
  return reason?.type === 'budget_reached' ? (reason as BudgetReached) : undefined
}

/** `agent.thread_context_compacted`: a summary replaces the beginning of the conversation. */
export interface ContextCompacted {
  readonly summary: string
  /** First event that the summary does not replace. */
  readonly kept_from_seq: number
  /** Sequence numbers of earlier messages whose prompts enter the conversation after that event, or have not entered it yet. */
  readonly waiting_seqs: readonly number[]
  /** Prompts of the run whose messages the summary replaces. */
  readonly prompt_ids: readonly string[]
  /** Estimated input tokens of a request before and after. */
  readonly tokens_before: number
  readonly tokens_after: number
  /** `auto`: the next request would have exceeded the context window; `request`: a caller requested it. */
  readonly reason: 'auto' | 'request'
}

/** Returns the compaction of an event; undefined for other events, and for a compaction inside another runtime. */
export function contextCompacted(event: {
  readonly type: string
  readonly [field: string]: unknown
}): ContextCompacted | undefined {
  if (event.type !== 'agent.thread_context_compacted' || !Number.isInteger(event['kept_from_seq'])) return undefined
  return event as unknown as ContextCompacted
}

/** Returns whether the conversation after the compaction is built from the event. */
export const isRetainedBy = ({ kept_from_seq, waiting_seqs }: ContextCompacted, seq: number): boolean =>
  seq >= kept_from_seq || waiting_seqs.includes(seq)

const SessionPath = Type.Object({ session_id: Type.String() })
const Digits = Type.String({ pattern: '^[0-9]{1,15}$' })
const Bool = Type.Union([Type.Boolean(), Type.Literal(1), Type.Literal(0)])

/** Content of a client's message. A union of one member, so that an error names the `type` of other content. */
const TextContent = Type.Array(
  Type.Union([
    Type.Object({ type: Type.Literal('text'), text: Type.String({ pattern: '\\S', maxLength: 1_000_000 }) }),
  ]),
  { minItems: 1 },
)

/** Message of a client. */
export const UserMessage = named(
  'UserMessage',
  Type.Object({ type: Type.Literal('user.message'), content: TextContent }),
)

const SentEvent = named(
  'SentEvent',
  Type.Union([
    UserMessage,
    Type.Object({ type: Type.Literal('user.interrupt') }),
    Type.Object({
      type: Type.Literal('user.tool_confirmation'),
      tool_use_id: Type.String({
        maxLength: 200,
        description: 'Id of the `agent.tool_use` event, or of the runtime’s call',
      }),
      result: Verdict,
      deny_message: Type.Optional(Nullable(Type.String({ maxLength: 10_000 }))),
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
    params: SessionPath,
    body: Type.Object({ events: Type.Array(SentEvent, { minItems: 1, maxItems: 100 }) }),
    responses: { 200: Type.Object({ data: Type.Array(SessionEvent) }) },
    summary: 'Send events',
    description:
      'Stores user events: a message, an interrupt, or the answer to a tool call that requires approval. The response contains them as stored.',
  }),
  ticket: route({
    id: 'events.ticket',
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
