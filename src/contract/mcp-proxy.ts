import { Type } from 'typebox'
import { maxMcpBytes } from './mcp.ts'
import { route } from './route.ts'
import { eventStream, JsonObject } from './schemas.ts'

const ProxyPath = Type.Object({ server: Type.String() })
const proxy = {
  access: 'key',
  errorShape: 'jsonrpc',
  path: '/mcp/{server}',
  aliases: ['/{server}/mcp'],
  params: ProxyPath,
  isForPrograms: true,
} as const

/** MCP itself, in both eras. Dialects: section 6. */
export const mcpProxyRoutes = {
  post: route({
    ...proxy,
    id: 'mcp_proxy.post',
    alternatives: eventStream,
    method: 'POST',
    bodyLimit: maxMcpBytes,
    body: Type.Unknown(),
    unknownFields: 'passed',
    responses: { 200: JsonObject, 202: null },
    summary: 'Send a message to an MCP server',
    description:
      'Passes a JSON-RPC message to a server (id, name or alias) and its answer back, JSON or an event stream. The service adds the credential of the server and never forwards that of the caller.',
  }),
  stream: route({
    ...proxy,
    id: 'mcp_proxy.stream',
    isRead: false,
    method: 'GET',
    responses: { 200: Type.String() },
    produces: 'text/event-stream',
    summary: 'Open the stream of an MCP session',
    description:
      'Opens the server’s own stream of a session, or resumes one with `Last-Event-ID` (revisions before 2026-07-28).',
  }),
  end: route({
    ...proxy,
    id: 'mcp_proxy.end',
    method: 'DELETE',
    responses: { 200: JsonObject },
    summary: 'End an MCP session',
    description: 'Ends the session of `Mcp-Session-Id` at the server (revisions before 2026-07-28).',
  }),
}

/** One server with the tools of all servers. Dialects: section 6.3, rule 10. */
export const mcpAggregateRoutes = {
  post: route({
    access: 'key',
    errorShape: 'jsonrpc',
    id: 'mcp_aggregate.post',
    alternatives: eventStream,
    method: 'POST',
    path: '/mcp',
    body: Type.Unknown(),
    unknownFields: 'passed',
    bodyLimit: maxMcpBytes,
    responses: { 200: JsonObject, 202: null },
    summary: 'Use the tools of all MCP servers',
    description:
      'MCP server of both eras with the accepted tools of all servers that the key may use, named `server__tool`. The header `x-mcp-servers: a,b` selects servers.',
  }),
}
