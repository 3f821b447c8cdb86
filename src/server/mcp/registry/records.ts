import { createHash } from 'node:crypto'
import type { McpServer } from '../../../contract/mcp.ts'
import type { RegisteredServer } from './server.ts'
import type { ServerState } from './state-store.ts'
import type { ServerValues } from './store.ts'

interface Reader {
  readonly isForAdmin: boolean
  /** Addresses of the logins of the reader, by the ids of their servers. */
  readonly logins: ReadonlyMap<string, string>
}

/** Returns the record of a server. Only admins see its whole address, because a path or a query may be a secret. */
export function shownServer(
  server: RegisteredServer,
  state: ServerState | undefined,
  { isForAdmin, logins }: Reader,
): McpServer {
  return {
    server_id: server.server_id,
    server_name: server.server_name,
    alias: server.alias,
    description: server.description,
    url: server.stdio ? null : isForAdmin ? server.url : new URL(server.url).origin,
    transport: server.stdio ? 'stdio' : 'http',
    auth_type: server.auth_type,
    oauth2_flow: server.oauth2_flow,
    has_credentials: server.has_credentials,
    has_login: server.oauth2_flow === 'authorization_code' ? logins.get(server.server_id) === server.url : null,
    vault_key: isForAdmin ? server.vault_key : null,
    static_headers: isForAdmin ? { ...server.static_headers } : {},
    allowed_tools: server.allowed_tools && [...server.allowed_tools],
    disallowed_tools: server.disallowed_tools && [...server.disallowed_tools],
    require_approval: approvalOf(server),
    locked: server.isConfigured,
    ...stateFields(state?.url === server.url ? state : undefined),
    created_at: server.created_at?.toISOString() ?? null,
    updated_at: server.updated_at?.toISOString() ?? null,
  }
}

/** Fields from the last check of a server. */
const stateFields = (current: ServerState | undefined) => ({
  status: current?.status ?? ('unknown' as const),
  last_checked_at: current?.last_checked_at.toISOString() ?? null,
  last_error: current?.last_error ?? null,
  era: current?.era ?? null,
  protocol_version: current?.protocol_version ?? null,
  tools_hash: current?.tools_hash ?? null,
  pending_tools_hash: current?.pending_tools_hash ?? null,
})

/** Fields of a server for the audit log. The address is recorded as origin and digest. */
export const auditFields = (row: ServerValues) => ({
  server_name: row.server_name,
  alias: row.alias,
  description: row.description,
  url: { origin: new URL(row.url).origin, sha256: createHash('sha256').update(row.url).digest('hex') },
  auth_type: row.auth_type,
  oauth2_flow: row.oauth2_flow,
  has_credentials: row.has_credentials,
  vault_entry: row.vault_key,
  static_header_names: Object.keys(row.static_headers),
  allowed_tools: row.allowed_tools,
  disallowed_tools: row.disallowed_tools,
  require_approval: approvalOf(row),
})

const approvalOf = ({ require_approval: tools }: Pick<RegisteredServer, 'require_approval'>) =>
  tools === null ? 'never' : tools === 'always' ? tools : [...tools]
