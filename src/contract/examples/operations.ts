import type { Examples } from './example.ts'

const mcpServer = 'calls a registered MCP server'

/** Usage, audit, kill switches and MCP. */
export const operationExamples: Examples = {
  'system.home': { notRun: 'answers with a page' },
  'system.console': { notRun: 'answers with a page' },
  'system.metrics': { notRun: 'answers with text that changes with every request' },
  'system.openapi': { notRun: 'the response is this document' },
  'usage.report': { query: { group_by: 'model', from: '2026-01-01' } },
  'usage.tools': { query: { group_by: 'tool,agent' } },
  'usage.calls': { query: { agent_id: '{agent_id}', limit: 2 } },
  'usage.call': { notRun: 'needs the request id of a response' },
  'usage.bodies': { notRun: 'needs recorded bodies, which are off by default' },
  'usage.deleteBodies': { notRun: 'needs recorded bodies, which are off by default' },
  'mcp.create': {
    body: {
      server_name: 'github',
      url: 'https://mcp.example.com/mcp',
      auth_type: 'bearer_token',
      credentials: { auth_value: 'sample-0123456789' },
      disallowed_tools: ['delete_repository'],
    },
  },
  'mcp.update': { body: { description: 'Repositories of the team' } },
  'mcp.test': { notRun: mcpServer },
  'mcp.accept': { body: {}, notRun: mcpServer },
  'mcp.tool_lists': { params: { server_id: 'github' } },
  'mcp.authorize': { notRun: 'needs an authorization server' },
  'mcp.logout': { notRun: 'needs an authorization server' },
  'mcp.callback': {
    query: { state: 'state', code: 'code' },
    notRun: 'the authorization server sends the browser here',
  },
  'mcp.complete_login': {
    query: { state: 'state', code: 'code' },
    body: { result: 'allow' },
    notRun: 'the form of the page sends it',
  },
  'mcp_calls.list': { query: { server: 'github', limit: 2 } },
  'mcp_calls.summary': { query: { group_by: 'tool' } },
  'mcp.tools': { notRun: mcpServer },
  'mcp.call': { body: { server_id: 'github', name: 'get_me', arguments: {} }, notRun: mcpServer },
  'mcp_proxy.post': { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' }, notRun: mcpServer },
  'mcp_aggregate.post': { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' }, notRun: mcpServer },
  'mcp_own.post': { body: { jsonrpc: '2.0', id: 1, method: 'ping' } },
  'mcp_proxy.stream': { notRun: mcpServer },
  'mcp_proxy.end': { notRun: mcpServer },
  'controls.stop': { body: { session_id: '{session_id}', reason: 'runs in a loop' } },
  'controls.freeze': { body: { owner: 'ana', reason: 'unexpected cost' } },
}
