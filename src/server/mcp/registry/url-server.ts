import { createHash } from 'node:crypto'
import type { RegisteredServer } from './server.ts'

const idPrefix = 'mcp_url_'

/** True for the id of a server that an agent names by its address. */
export const isUrlServerId = (id: string): boolean => id.startsWith(idPrefix)

/**
 * Returns a server that an agent names by its address, in the form of the registry. It has no credential. All agents with
 * the address share its accepted tool list.
 */
export function serverOfUrl({ name, url }: { readonly name: string; readonly url: string }): RegisteredServer {
  return {
    server_id: `${idPrefix}${createHash('sha256').update(url).digest('hex').slice(0, 32)}`,
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
