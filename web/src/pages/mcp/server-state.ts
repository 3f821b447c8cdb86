import type { McpServer } from '../../../../src/contract/mcp.ts'
import type { StateName } from '../../theme.ts'

interface ShownState {
  readonly state: StateName
  readonly word: string
}

/** What the person may do besides reading. */
export interface Rights {
  readonly isAdmin: boolean
  readonly mayChange: boolean
}

/** Returns what a person should know first about a server: what it needs, else the result of the last check. */
export function stateOf(server: McpServer, { isAdmin, mayChange }: Rights): ShownState {
  if (server.pending_tools_hash !== null) return { state: 'attention', word: 'tools changed' }
  // Viewers cannot log in.
  if (mayChange && server.has_login === false) return { state: 'attention', word: 'needs your login' }
  // Records for other keys do not show which credential a server has.
  if (isAdmin && isWithoutCredential(server)) return { state: 'failed', word: 'no credential' }
  switch (server.status) {
    case 'healthy':
      return { state: 'done', word: 'healthy' }
    case 'unhealthy':
      return { state: 'failed', word: 'failing' }
    case 'unknown':
      return { state: 'stopped', word: 'not tested' }
  }
}

const isWithoutCredential = ({ auth_type, oauth2_flow, has_credentials, vault_key, static_headers }: McpServer) =>
  auth_type !== 'none' &&
  oauth2_flow !== 'authorization_code' &&
  !has_credentials &&
  vault_key === null &&
  Object.keys(static_headers).length === 0

/** Names the way a server authenticates this service. */
export function authOf({ auth_type, oauth2_flow, has_login }: McpServer): string {
  if (oauth2_flow === 'authorization_code') return has_login ? 'your login' : 'login of each person'
  return authNames[auth_type]
}

export const authNames = {
  none: 'none',
  api_key: 'x-api-key',
  bearer_token: 'bearer token',
  basic: 'user and password',
  authorization: 'authorization header',
  oauth2: 'OAuth, client credentials',
} as const satisfies Record<McpServer['auth_type'], string>
