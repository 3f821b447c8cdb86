import type { CredentialAuthUpdate, CredentialAuthWrite } from '../../../contract/managed-vaults.ts'
import { timeIn } from '../../http/time-range.ts'
import { invalid } from '../../platform/errors.ts'
import type { CredentialRow } from './vault-store.ts'

/** What a new credential stores. */
interface NewSecret extends Pick<CredentialRow, 'type' | 'mcp_server_url' | 'expires_at'> {
  readonly token: string
}

const noVariables = () =>
  invalid(
    'auth.type environment_variable is not supported: name an entry of /api/vault in config.network.secrets of the agent',
  )

const noRefresh = () =>
  invalid(
    'auth.refresh is not supported: register the server with POST /v1/mcp/server and auth_type oauth2, which renews tokens',
  )

/** Returns the parts of a new credential. Throws `invalid_request`, naming the field, for unsupported kinds. */
export function newSecret(auth: CredentialAuthWrite): NewSecret {
  switch (auth.type) {
    case 'environment_variable':
      throw noVariables()
    case 'static_bearer':
      return { type: auth.type, mcp_server_url: addressOf(auth.mcp_server_url), expires_at: null, token: auth.token }
    case 'mcp_oauth': {
      if (auth.refresh) throw noRefresh()
      const expires_at = auth.expires_at ? timeIn('auth.expires_at', auth.expires_at) : null
      return { type: auth.type, mcp_server_url: addressOf(auth.mcp_server_url), expires_at, token: auth.access_token }
    }
  }
}

/** Returns the new secret and the new end of a credential; undefined stays unchanged. */
export function changedSecret(
  { type }: Pick<CredentialRow, 'type'>,
  auth: CredentialAuthUpdate | undefined,
): { readonly token?: string | undefined; readonly expires_at?: Date | null | undefined } {
  if (!auth) return {}
  if (auth.type === 'environment_variable') throw noVariables()
  if (auth.type !== type) throw invalid(`auth.type must be ${type}: the type of a credential cannot change`)
  if (auth.type === 'static_bearer') return { token: auth.token ?? undefined }
  if (auth.refresh) throw noRefresh()
  const { expires_at: end } = auth
  return {
    token: auth.access_token ?? undefined,
    expires_at: typeof end === 'string' ? timeIn('auth.expires_at', end) : end,
  }
}

/** Returns an address in the form in which those of agents are compared with it; unchanged if it is none. */
export const canonicalUrl = (url: string): string => URL.parse(url)?.href ?? url

function addressOf(url: string): string {
  const parsed = URL.parse(url)
  if (!parsed || !['http:', 'https:'].includes(parsed.protocol))
    throw invalid('auth.mcp_server_url must be an address with https or http')
  if (parsed.username !== '' || parsed.password !== '' || parsed.hash !== '')
    throw invalid('auth.mcp_server_url must not contain a user name, a password or a fragment')
  return parsed.href
}
