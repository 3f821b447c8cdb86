import { Type } from 'typebox'
import { maxMcpBytes } from './mcp.ts'
import { route } from './route.ts'
import { eventStream, JsonObject } from './schemas.ts'

/** This service as an MCP server. */
export const mcpOwnRoutes = {
  post: route({
    access: 'key',
    errorShape: 'jsonrpc',
    id: 'mcp_own.post',
    method: 'POST',
    path: '/mcp/switchyard',
    aliases: ['/switchyard/mcp'],
    body: Type.Unknown(),
    unknownFields: 'passed',
    bodyLimit: maxMcpBytes,
    alternatives: eventStream,
    responses: { 200: JsonObject, 202: null },
    summary: 'Use agents as MCP tools',
    description:
      'MCP server of both eras: each active agent that the key may see is a tool, and a call is a prompt of a session. Reads of the API are tools too. Clients with the extension `io.modelcontextprotocol/tasks` get a task, others wait. With `Idempotency-Key`, or in a session the same request id, a repeated call starts nothing.',
  }),
}
