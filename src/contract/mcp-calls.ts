import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { NextCursor, Nullable, pageQuery, rangeQuery, Timezone } from './schemas.ts'

const Via = Type.Union(
  [Type.Literal('proxy'), Type.Literal('aggregate'), Type.Literal('rest'), Type.Literal('session')],
  { description: '`/mcp/{server}`, `/mcp`, `/mcp-rest/tools/call`, or a session' },
)
export type McpCallVia = Static<typeof Via>

const Outcome = Type.Union([Type.Literal('completed'), Type.Literal('tool_error'), Type.Literal('failed')], {
  description: '`tool_error`: the result has `isError`; `failed`: there is no result',
})
export type McpCallOutcome = Static<typeof Outcome>

/** A call of a tool, without arguments and result. */
export const McpCall = named(
  'McpCall',
  Type.Object({
    id: Type.String(),
    created_at: Type.String({ format: 'date-time' }),
    server_id: Type.String(),
    server_name: Type.String(),
    tool: Type.String({ description: 'At most 200 characters' }),
    via: Via,
    principal: Type.String(),
    key_id: Nullable(Type.String(), 'null for the master key'),
    outcome: Outcome,
    error_code: Nullable(Type.String(), 'Code of the error when this service or the connection failed'),
    ms: Type.Integer({ description: 'From the request to the end of the response' }),
    request_bytes: Type.Integer({ description: 'Size of the arguments, or of the message at the proxy' }),
    response_bytes: Type.Integer({ description: 'Size of the result, or of all messages at the proxy' }),
  }),
)
export type McpCall = Static<typeof McpCall>

const Milliseconds = Type.Object({ p50: Type.Number(), p95: Type.Number() })

/** Calls of one server or one tool. */
const McpCallSummary = named(
  'McpCallSummary',
  Type.Object({
    server_id: Type.String(),
    server_name: Type.String(),
    tool: Nullable(Type.String(), 'null when grouped by server'),
    calls: Type.Integer(),
    tool_errors: Type.Integer({ description: 'Calls whose result has `isError`' }),
    failed: Type.Integer({ description: 'Calls without a result' }),
    last_call_at: Type.String({ format: 'date-time' }),
    ms: Milliseconds,
    total_ms: Type.Integer({ description: 'Time of all calls' }),
  }),
)
export type McpCallSummary = Static<typeof McpCallSummary>

const filter = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 200, description }))

const filters = {
  ...rangeQuery,
  timezone: Timezone,
  server: filter('Id or name of a server'),
  tool: filter('Name of a tool at its server'),
  principal: filter('Principal of the calls'),
  key_id: filter('Virtual key of the calls'),
  via: Type.Optional(Via),
  outcome: Type.Optional(Outcome),
}
const base = { method: 'GET', access: 'key', errorShape: 'nested' } as const

export const mcpCallRoutes = {
  list: route({
    ...base,
    id: 'mcp_calls.list',
    path: '/v1/mcp/calls',
    query: Type.Object({ ...pageQuery, ...filters }),
    responses: { 200: Type.Object({ calls: Type.Array(McpCall), next_cursor: NextCursor }) },
    summary: 'List calls of MCP tools',
    description:
      'Lists calls of tools with their latency, newest first, up to 30 days back. Admins see all calls, other callers their own.',
  }),
  summary: route({
    ...base,
    id: 'mcp_calls.summary',
    path: '/v1/mcp/calls/summary',
    query: Type.Object({
      ...filters,
      group_by: Type.Optional(
        Type.Union([Type.Literal('server'), Type.Literal('tool')], {
          default: 'server',
          description: 'Size of a group',
        }),
      ),
    }),
    responses: {
      200: Type.Object({
        data: Type.Array(McpCallSummary, { description: 'At most 1,000, the most calls first' }),
        has_more: Type.Boolean(),
      }),
    },
    summary: 'Sum up calls of MCP tools',
    description:
      'Returns the number of calls, failures and durations of each server, or of each tool, of the last 30 days or of a part of them. Admins see all calls, other callers their own.',
  }),
}
