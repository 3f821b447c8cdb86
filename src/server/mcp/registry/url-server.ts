import { createHash } from 'node:crypto'
import type { Caller } from '../../http/caller.ts'
import { notFound } from '../../platform/errors.ts'
import type { RegisteredServer } from './server.ts'

const idPrefix = 'mcp_url_'

const idOf = (text: string): string => `${idPrefix}${createHash('sha256').update(text).digest('hex').slice(0, 32)}`

/** True for the id of a server that an agent names by its address. */
export const isUrlServerId = (id: string): boolean => id.startsWith(idPrefix)

/**
 * Returns a server that an agent names by its address, in the form of the registry. It has no credential. All agents with
 * the address share its accepted tool list.
 */
export function serverOfUrl({ name, url }: { readonly name: string; readonly url: string }): RegisteredServer {
  return {
    server_id: idOf(url),
    server_name: name,
    alias: null,
    description: null,
    url,
    auth_type: 'none',
    has_credentials: false,
    vault_key: null,
    static_headers: {},
    allowed_tools: null,
    disallowed_tools: null,
    require_approval: null,
    oauth2_flow: null,
    version: 0,
    isConfigured: false,
    created_at: null,
    updated_at: null,
    secret: () => ({}),
  }
}

/** Throws `not_found` when the key may not use the server. By its id, since whoever writes an agent chooses the name. */
export function checkUrlServer({ server_id, server_name }: RegisteredServer, key: Caller['key']): void {
  const allowed = key?.mcpServers
  if (allowed && !allowed.includes(server_id)) throw notFound('MCP server', server_name)
}

/** A credential of a session for the address of a server. */
export interface UrlCredential {
  readonly id: string
  readonly token: string
}

/** Returns the server with a credential. It may show its holder other tools, so it has an id of its own. */
export const withCredential = (server: RegisteredServer, { id, token }: UrlCredential): RegisteredServer => ({
  ...server,
  server_id: idOf(`${server.url} ${id}`),
  auth_type: 'bearer_token',
  has_credentials: true,
  secret: () => ({ auth_value: token }),
})
