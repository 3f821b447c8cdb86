import { type Static, Type } from 'typebox'
import { named } from './named.ts'
import { route } from './route.ts'
import { NextCursor, Nullable, pageQuery, rangeQuery } from './schemas.ts'

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

/** Calls of one server in a period. */
const McpCallTotals = named(
  'McpCallTotals',
  Type.Object({
    server_id: Type.String(),
    server_name: Type.String({ description: 'Name at the newest call' }),
    calls: Type.Integer(),
    tool_errors: Type.Integer({ description: 'Calls whose result has `isError`' }),
    failed: Type.Integer({ description: 'Calls without a result' }),
    ms_p50: Type.Integer({ description: 'Median latency' }),
    ms_p95: Type.Integer(),
    last_call_at: Type.String({ format: 'date-time' }),
  }),
)
export type McpCallTotals = Static<typeof McpCallTotals>

const filter = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 200, description }))

export const mcpCallRoutes = {
  list: route({
    id: 'mcp_calls.list',
    method: 'GET',
    path: '/v1/mcp/calls',
    access: 'key',
    errorShape: 'nested',
    query: Type.Object({
      ...pageQuery,
      ...rangeQuery,
      server: filter('Id or name of a server'),
      tool: filter('Name of a tool at its server'),
      principal: filter('Principal of the calls'),
      key_id: filter('Virtual key of the calls'),
      outcome: Type.Optional(Outcome),
    }),
    responses: { 200: Type.Object({ calls: Type.Array(McpCall), next_cursor: NextCursor }) },
    summary: 'List calls of MCP tools',
    description:
      'Lists calls of tools with their latency, newest first, up to 30 days back. Admins see all calls, other callers their own.',
  }),
  totals: route({
    id: 'mcp_calls.totals',
    method: 'GET',
    path: '/v1/mcp/calls/totals',
    access: 'key',
    errorShape: 'nested',
    query: Type.Object({ ...rangeQuery, server: filter('Id or name of a server') }),
    responses: { 200: Type.Object({ servers: Type.Array(McpCallTotals) }) },
    summary: 'Summarize calls of MCP tools',
    description:
      'Returns calls, failures, latency and the time of the last call per server, the most called first. Without `from` it covers the last 7 days. Admins get all calls, other callers their own.',
  }),
}
