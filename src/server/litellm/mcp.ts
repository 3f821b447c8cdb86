import { type Json, recordOf } from '../platform/json.ts'
import type { ImportReport } from './report.ts'
import type { SecretReferences } from './secrets.ts'

interface Context {
  readonly report: ImportReport
  readonly secrets: SecretReferences
}

const authTypes = new Set(['none', 'api_key', 'bearer_token', 'basic', 'authorization'])
const plainFields = ['alias', 'description', 'static_headers', 'allowed_tools', 'disallowed_tools'] as const

/** Returns entries of `mcp_servers` for the servers of LiteLLM that can be reached over HTTP. */
export function mcpServersOf(given: unknown, context: Context): Json[] {
  return Object.entries(recordOf(given)).flatMap(([name, entry]): Json[] => {
    const server = serverOf(name, recordOf(entry), context)
    return server ? [server] : []
  })
}

function serverOf(name: string, entry: Json, { report, secrets }: Context): Json | undefined {
  const setting = `mcp_servers.${name}`
  const { url, auth_type: authType, authentication_token: token, auth_value: value } = entry
  if (typeof url !== 'string') {
    report.unsupported(
      setting,
      'a local program needs its command and sandbox here',
      'add it with transport stdio, see docs/mcp.md',
    )
    return undefined
  }
  if (entry['transport'] === 'sse') {
    report.unsupported(
      setting,
      'the transport sse is not supported',
      'use the address of its streamable HTTP transport',
    )
    return undefined
  }
  if (authType !== undefined && !authTypes.has(String(authType))) {
    report.unsupported(
      setting,
      `auth_type ${String(authType)} is stored by the API`,
      'add the server with POST /v1/mcp/server',
    )
    return undefined
  }
  report.carried(setting, `mcp_servers: ${name}`)
  const secret = token ?? value
  const plain = plainFields.flatMap(field => (entry[field] === undefined ? [] : [[field, entry[field]]]))
  const place = { setting: `${setting}.auth_value`, variable: `MCP_${name}_TOKEN` }
  return {
    server_name: name.replaceAll(/[^\w-]/g, '-'),
    url,
    ...(authType !== undefined && { auth_type: authType }),
    ...(secret !== undefined && { auth_value: secrets.moved(secret, place) }),
    ...Object.fromEntries(plain),
  }
}
