import type { McpAuthType, McpTool, Oauth2Flow } from '../../../contract/mcp.ts'
import type { McpCallOutcome, McpCallVia } from '../../../contract/mcp-calls.ts'
import type { DefaultTime, Json } from './columns.ts'

/** Table `mcp_servers`: registered MCP servers. */
export interface McpServerTable {
  server_id: string
  server_name: string
  alias: string | null
  description: string | null
  url: string
  auth_type: McpAuthType
  oauth2_flow: Oauth2Flow | null
  has_credentials: boolean
  vault_key: string | null
  static_headers: Json<Readonly<Record<string, string>>>
  allowed_tools: Json<readonly string[]> | null
  disallowed_tools: Json<readonly string[]> | null
  /** Null for never. */
  require_approval: Json<'always' | readonly string[]> | null
  version: number
  /** Null without a credential and without static headers, like the next column. */
  sealed: Buffer | null
  key_id: string | null
  created_by: string
  created_at: DefaultTime
  updated_at: DefaultTime
}

/** Table `mcp_server_states`: what the last check of an MCP server has found. */
export interface McpServerStateTable {
  server_id: string
  url: string
  status: 'healthy' | 'unhealthy'
  last_checked_at: Date
  last_error: string | null
  era: 'modern' | 'legacy' | null
  protocol_version: string | null
  tools: Json<readonly McpTool[]> | null
  tools_hash: string | null
  pending_tools: Json<readonly McpTool[]> | null
  pending_tools_hash: string | null
}

/** Table `mcp_calls`: calls of MCP tools. */
export interface McpCallTable {
  id: string
  created_at: Date
  server_id: string
  server_name: string
  tool: string
  via: McpCallVia
  principal: string
  key_id: string | null
  outcome: McpCallOutcome
  error_code: string | null
  ms: number
  request_bytes: number
  response_bytes: number
}

/** Table `mcp_authorizations`: logins at MCP servers that have begun. */
export interface McpAuthorizationTable {
  state_hash: string
  server_id: string
  principal: string
  url: string
  version: number
  sealed: Buffer
  key_id: string
  expires_at: Date
}

/** Table `mcp_logins`: tokens of principals at MCP servers. */
export interface McpLoginTable {
  server_id: string
  principal: string
  url: string
  version: number
  sealed: Buffer
  key_id: string
  refreshing_until: Date | null
  created_at: DefaultTime
}
