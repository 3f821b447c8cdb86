import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import {
  CsvFormat,
  GroupLimit,
  NextCursor,
  Nullable,
  pageQuery,
  rangeQuery,
  reportScope,
  Timezone,
  VersionNumber,
} from './schemas.ts'
import { toolUsage } from './tool-usage.ts'

/** Dimensions of a report. */
export const usageDimensions = [
  'key',
  'owner',
  'agent',
  'version',
  'session',
  'model',
  'deployment',
  'provider',
  'outcome',
  'day',
  'hour',
] as const
export type UsageDimension = (typeof usageDimensions)[number]

export const maxDimensions = 3

/** Exact decimal. A JSON number would lose digits in sums of many small amounts. */
export const ExactUsd = Type.String({ pattern: '^[0-9]+([.][0-9]+)?$', description: 'US dollars as an exact decimal' })

const Milliseconds = named(
  'UsageMilliseconds',
  Type.Object({ p50: Nullable(Type.Number()), p95: Nullable(Type.Number()) }),
)

const Figures = {
  requests: Type.Integer({ description: 'Model calls' }),
  failed_requests: Type.Integer({ description: 'Calls with the outcome `failed`' }),
  aborted_requests: Type.Integer({ description: 'Calls with the outcome `aborted`' }),
  lost_requests: Type.Integer({ description: 'Calls with the outcome `lost`' }),
  input_tokens: Type.Integer({ description: 'Input tokens that were not cached' }),
  cache_read_tokens: Type.Integer(),
  cache_write_5m_tokens: Type.Integer(),
  cache_write_1h_tokens: Type.Integer(),
  output_tokens: Type.Integer(),
  reasoning_tokens: Type.Integer({ description: 'Reasoning tokens, which are part of the output' }),
  web_searches: Type.Integer(),
  cost_usd: Nullable(ExactUsd, 'Cost of the calls with a known price; null when no call has one'),
  unpriced_requests: Type.Integer({ description: 'Calls with an unknown price, which sums do not include' }),
  cached_requests: Type.Integer({ description: 'Calls that the response cache answered; they cost nothing' }),
  estimated_requests: Type.Integer({ description: 'Calls whose tokens are estimates, in whole or in part' }),
  price_sources: Type.Array(Type.String(), { description: 'Where the applied prices come from, with their versions' }),
  first_content_ms: Milliseconds,
  total_ms: Milliseconds,
}

const UsageFigures = named('UsageFigures', Type.Object(Figures))
export type UsageFigures = Static<typeof UsageFigures>

const UsageGroup = named(
  'UsageGroup',
  Type.Object({
    by: Type.Record(Type.String(), Nullable(Type.String()), {
      description:
        'A value for each dimension of `group_by`; null for calls without one, such as the key of calls with the master key',
    }),
    ...Figures,
  }),
)
export type UsageGroup = Static<typeof UsageGroup>

/** Model call in the ledger. Later price changes do not change it. */
export const UsageCall = named(
  'UsageCall',
  Type.Object({
    id: Type.String(),
    created_at: Type.String({
      format: 'date-time',
      description: 'Time at which the call was recorded, right after its end',
    }),
    request_id: Nullable(Type.String(), 'null for the reservations of several calls of a crashed process'),
    principal: Type.String(),
    key_id: Nullable(Type.String()),
    owner_id: Nullable(Type.String()),
    agent_id: Nullable(Type.String()),
    agent_version: Nullable(Type.Integer(), 'Version of the agent that the session runs'),
    session_id: Nullable(Type.String()),
    prompt_id: Nullable(Type.String()),
    run_id: Nullable(Type.String()),
    batch_id: Nullable(Type.String(), 'Batch that made the call'),
    client_session_id: Nullable(Type.String({ description: '`x-claude-code-session-id`' })),
    client_agent_id: Nullable(Type.String({ description: '`x-claude-code-agent-id`' })),
    client_parent_id: Nullable(Type.String({ description: '`x-claude-code-parent-agent-id`' })),
    model: Type.String({ description: 'Model name of the request' }),
    deployment: Type.String(),
    provider: Type.String(),
    upstream_model: Type.String(),
    protocol: Nullable(Type.String()),
    lane: Type.String(),
    outcome: Type.String({ description: '`completed`, `failed`, `aborted` or `lost`' }),
    stop_reason: Nullable(Type.String()),
    status: Nullable(Type.Integer()),
    attempts: Type.Integer(),
    input_tokens: Type.Integer(),
    cache_read_tokens: Type.Integer(),
    cache_write_5m_tokens: Type.Integer(),
    cache_write_1h_tokens: Type.Integer(),
    output_tokens: Type.Integer(),
    reasoning_tokens: Type.Integer(),
    web_searches: Type.Integer(),
    units: Nullable(
      Type.Record(Type.String(), Type.Number()),
      'Counted units other than tokens and web searches: characters, seconds, images, queries, file searches, containers. Tokens of audio are part of the tokens',
    ),
    estimated: Type.Boolean({ description: 'Tokens are estimates, in whole or in part' }),
    cost_usd: Nullable(ExactUsd, 'null: the price is unknown'),
    held_usd: Nullable(ExactUsd, 'Amount that a budget reserved for the call while it was running'),
    rates: Nullable(Type.Record(Type.String(), Type.String()), 'Applied rates: US dollars per token or unit, by kind'),
    price_source: Nullable(Type.String()),
    cached: Type.Boolean({ description: 'True when the response cache answered and no upstream was called' }),
    degraded: Nullable(Type.String({ description: 'Degradations of the translation, as `path=action` pairs' })),
    first_content_ms: Nullable(Type.Number()),
    total_ms: Type.Number(),
  }),
)
export type UsageCall = Static<typeof UsageCall>

const RecordedSide = {
  content_type: Nullable(Type.String()),
  body: Nullable(
    Type.String({ description: 'The first 256 KB, without credentials; a stream as its events' }),
    'null for a form and for content that is not text',
  ),
  truncated: Type.Boolean({ description: 'True when the body is longer' }),
}

/** Recorded request and response of a call. */
export const CallBodies = named(
  'CallBodies',
  Type.Object({
    request_id: Type.String(),
    created_at: Type.String({ format: 'date-time' }),
    principal: Type.String(),
    key_id: Nullable(Type.String()),
    owner_id: Nullable(Type.String()),
    model: Type.String({ description: 'Model name of the request' }),
    request: Type.Object(RecordedSide),
    response: Type.Object({ status: Nullable(Type.Integer(), 'null: the client disconnected first'), ...RecordedSide }),
  }),
)

const Filter = Type.Optional(Type.String({ minLength: 1, maxLength: 300 }))

const filters = {
  key_id: Filter,
  owner_id: Filter,
  agent_id: Filter,
  session_id: Filter,
  model: Filter,
  deployment: Filter,
  provider: Filter,
  outcome: Filter,
  principal: Filter,
  agent_version: Type.Optional(VersionNumber()),
  status: Type.Optional(
    Type.String({
      maxLength: 3,
      pattern: '^[1-5]([0-9]{2}|xx)$',
      description: 'HTTP status of the response: `429`, or `5xx` for all of a class',
    }),
  ),
  min_cost_usd: Type.Optional(
    Type.String({
      maxLength: 30,
      pattern: '^[0-9]+([.][0-9]+)?$',
      description: 'Only calls that cost at least this many US dollars',
    }),
  ),
}

const base = { access: 'key', errorShape: 'nested', method: 'GET', hasCsv: true } as const
const CallPath = Type.Object({ request_id: Type.String({ maxLength: 100 }) })
const ofBodies = {
  access: 'admin',
  errorShape: 'nested',
  path: '/api/usage/calls/{request_id}/bodies',
  params: CallPath,
} as const

export const usageRoutes = {
  report: route({
    ...base,
    id: 'usage.report',
    path: '/api/usage',
    query: Type.Object({
      ...rangeQuery,
      ...filters,
      timezone: Timezone,
      format: CsvFormat,
      group_by: Type.Optional(
        Type.String({
          maxLength: 100,
          description: `Up to ${maxDimensions} dimensions, separated by commas: ${usageDimensions.join(', ')}`,
        }),
      ),
      limit: GroupLimit,
    }),
    responses: {
      200: Type.Object({
        ...reportScope,
        totals: UsageFigures,
        groups: Type.Array(UsageGroup, { description: 'Ordered by time, oldest first, then by cost, highest first' }),
        has_more: Type.Boolean({
          description: 'True when there are more groups than `limit`; the totals cover all groups',
        }),
      }),
    },
    summary: 'Report usage',
    description: 'Sums requests, tokens, cost and latency of model calls, grouped by up to three dimensions.',
  }),
  tools: toolUsage,
  calls: route({
    ...base,
    id: 'usage.calls',
    path: '/api/usage/calls',
    query: Type.Object({
      ...pageQuery,
      ...rangeQuery,
      ...filters,
      request_id: Filter,
      timezone: Timezone,
      format: CsvFormat,
    }),
    responses: { 200: Type.Object({ calls: Type.Array(UsageCall), next_cursor: NextCursor }) },
    summary: 'List model calls',
    description: 'Lists model calls with tokens, cost, rates and outcome, newest first.',
  }),
  call: route({
    id: 'usage.call',
    method: 'GET',
    path: '/api/usage/calls/{request_id}',
    access: 'key',
    errorShape: 'nested',
    params: CallPath,
    responses: {
      200: Type.Object({
        ...UsageCall.properties,
        has_bodies: Type.Boolean({
          description: 'True when the request and the answer are recorded and the caller may read them',
        }),
      }),
    },
    summary: 'Read a model call',
    description:
      'Returns one model call by the `x-switchyard-request-id` of its response. The service writes the row at most 100 ms after the end of the call; until then the answer is 404.',
  }),
  bodies: route({
    ...ofBodies,
    id: 'usage.bodies',
    method: 'GET',
    responses: { 200: CallBodies },
    summary: 'Read the bodies of a model call',
    description:
      'Returns the request and the answer of a call that was recorded with `log_bodies`. The audit log records the read.',
  }),
  deleteBodies: route({
    ...ofBodies,
    id: 'usage.deleteBodies',
    method: 'DELETE',
    responses: { 204: null },
    summary: 'Delete the bodies of a model call',
    description: 'Deletes the recorded request and answer; the row of the call stays.',
  }),
}
