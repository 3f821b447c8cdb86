import type { McpServer, McpServerCreate } from '../../../../src/contract/mcp.ts'

/** How a server authenticates this service; the two flows of OAuth are choices of their own. */
export type DraftAuth = Exclude<McpServer['auth_type'], 'oauth2'> | 'client_credentials' | 'authorization_code'

/** What the form holds. */
export interface Draft {
  readonly server_name: string
  readonly url: string
  readonly description: string
  readonly auth: DraftAuth
  readonly authValue: string
  readonly vaultKey: string
  readonly clientId: string
  readonly clientSecret: string
  readonly scopes: string
  readonly tokenUrl: string
  readonly approval: 'never' | 'always' | 'some'
  readonly approvalTools: string
}

/** Fields that errors of the service name. */
export const fieldNames = [
  'server_name',
  'url',
  'description',
  'auth_type',
  'vault_key',
  'require_approval',
  'credentials.auth_value',
  'credentials.client_id',
  'credentials.client_secret',
  'credentials.scopes',
  'credentials.token_url',
] as const

/** Returns the form of a server, or an empty one. Stored credentials are not in it. */
export function draftOf(server: McpServer | undefined): Draft {
  const approval = server?.require_approval ?? 'never'
  return {
    server_name: server?.server_name ?? '',
    url: server?.url ?? '',
    description: server?.description ?? '',
    auth: server?.oauth2_flow ?? authOf(server?.auth_type),
    authValue: '',
    vaultKey: server?.vault_key ?? '',
    clientId: '',
    clientSecret: '',
    scopes: '',
    tokenUrl: '',
    approval: typeof approval === 'string' ? approval : 'some',
    approvalTools: typeof approval === 'string' ? '' : approval.join(', '),
  }
}

const authOf = (type: McpServer['auth_type'] | undefined): DraftAuth =>
  type === undefined || type === 'oauth2' ? 'none' : type

/** Returns the body for the draft. Credentials that were left empty are not in it, so that stored ones stay. */
export function writeOf(draft: Draft, before: McpServer | undefined): McpServerCreate {
  const isOauth = draft.auth === 'client_credentials' || draft.auth === 'authorization_code'
  return {
    server_name: draft.server_name.trim(),
    url: draft.url.trim(),
    description: draft.description.trim() || null,
    require_approval: draft.approval === 'some' ? listOf(draft.approvalTools, ',') : draft.approval,
    ...(isOauth
      ? { auth_type: 'oauth2', oauth2_flow: draft.auth }
      : { auth_type: draft.auth, ...(before?.oauth2_flow && { oauth2_flow: null }) }),
    ...secretsOf(draft, { isOauth, before }),
  }
}

interface Context {
  readonly isOauth: boolean
  readonly before: McpServer | undefined
}

function secretsOf(draft: Draft, { isOauth, before }: Context): Pick<McpServerCreate, 'credentials' | 'vault_key'> {
  if (draft.auth === 'none') return {}
  if (isOauth) {
    const credentials = {
      ...(draft.clientId.trim() && { client_id: draft.clientId.trim() }),
      ...(draft.clientSecret && { client_secret: draft.clientSecret }),
      ...(draft.scopes.trim() && { scopes: listOf(draft.scopes, ' ') }),
      ...(draft.tokenUrl.trim() && { token_url: draft.tokenUrl.trim() }),
    }
    return {
      ...(Object.keys(credentials).length > 0 && { credentials }),
      ...(before?.vault_key && { vault_key: null }),
    }
  }
  const vaultKey = draft.vaultKey.trim()
  return {
    ...(draft.authValue && { credentials: { auth_value: draft.authValue } }),
    ...(vaultKey !== (before?.vault_key ?? '') && { vault_key: vaultKey || null }),
  }
}

const listOf = (text: string, separator: string): string[] => [
  ...new Set(
    text
      .split(separator)
      .map(part => part.trim())
      .filter(part => part !== ''),
  ),
]
