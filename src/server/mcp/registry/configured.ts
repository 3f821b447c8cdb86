import { createHash } from 'node:crypto'
import type { ConfiguredMcpServer } from '../../config/agent-settings.ts'
import { maskedHeaders } from './credentials.ts'
import type { RegisteredServer } from './server.ts'

/** Returns a server of the configuration file in the form of the registry. */
export function serverOfConfiguration(server: ConfiguredMcpServer): RegisteredServer {
  const { serverName, authValue, staticHeaders } = server
  const hasHeaders = Object.keys(staticHeaders).length > 0
  return {
    server_id: `mcp_config_${serverName}`,
    server_name: serverName,
    alias: server.alias,
    description: server.description,
    url: server.stdio ? `stdio:${digestOf(server.stdio.command).toString('hex')}` : server.url,
    ...(server.stdio && { stdio: server.stdio }),
    auth_type: server.authType,
    oauth2_flow: null,
    has_credentials: authValue !== undefined,
    vault_key: server.vaultKey,
    static_headers: maskedHeaders(staticHeaders),
    allowed_tools: server.allowedTools,
    disallowed_tools: server.disallowedTools,
    require_approval: server.requireApproval,
    version: versionOf(server),
    isConfigured: true,
    created_at: null,
    updated_at: null,
    secret: () => ({
      ...(authValue !== undefined && { auth_value: authValue }),
      ...(hasHeaders && { static_headers: staticHeaders }),
    }),
  }
}

/** Returns a number that differs for different settings, as far as caches are concerned. */
const versionOf = (server: ConfiguredMcpServer): number => digestOf(server).readUInt32BE(0)

const digestOf = (value: unknown): Buffer => createHash('sha256').update(JSON.stringify(value)).digest()
