import { authorizationValue } from '../../platform/authorization.ts'
import { isLongEnough, wholeEchoes } from '../../platform/echoes.ts'
import { AppError } from '../../platform/errors.ts'
import type { Vault } from '../../vault/vault.ts'
import type { LoginTokens } from '../login/login-tokens.ts'
import type { RegisteredServer, ServerSecret } from '../registry/server.ts'
import type { OauthTokens } from './oauth.ts'

export interface Authorization {
  /** Static headers and the credential; static headers win. */
  readonly headers: Readonly<Record<string, string>>
  /** Removes the secrets from a text of the server. */
  readonly scrub: (text: string) => string
}

/** Adds the credentials of servers to requests. A missing credential is an error, never a request without it. Security: S31. */
export interface Authorize {
  headersFor(server: RegisteredServer, options: { readonly signal: AbortSignal }): Promise<Authorization>
  /** Renews a token that the server rejected; returns false when the credential cannot be renewed. */
  renew(server: RegisteredServer, rejected: Pick<Authorization, 'headers'>): Promise<boolean>
}

interface Deps {
  readonly vault: Pick<Vault, 'value'>
  readonly tokens: OauthTokens
  readonly loginTokens: Pick<LoginTokens, 'tokenFor' | 'renew'>
}

export function createAuthorize({ vault, tokens, loginTokens }: Deps): Authorize {
  async function storedValue(server: RegisteredServer, { auth_value }: ServerSecret): Promise<string> {
    const { vault_key } = server
    const value = vault_key === null ? auth_value : await vault.value({ name: vault_key, ownerId: undefined })
    if (value !== undefined) return value
    const name = `MCP server ${server.server_name}`
    throw new AppError(
      'upstream_unreachable',
      vault_key === null
        ? `${name} has no stored credential; send it with PUT /v1/mcp/server/${server.server_id}`
        : `${name} needs the vault entry ${vault_key}, which does not exist`,
    )
  }

  async function credentialOf(
    server: RegisteredServer,
    secret: ServerSecret,
    signal: AbortSignal,
  ): Promise<{ readonly headers: Record<string, string>; readonly value: string | undefined }> {
    switch (server.auth_type) {
      case 'none':
        return { headers: {}, value: undefined }
      case 'oauth2': {
        const isLogin = server.login !== undefined
        const value = await (isLogin ? loginTokens.tokenFor(server) : tokens.tokenFor(server, secret, signal))
        return { headers: { authorization: `Bearer ${value}` }, value }
      }
      case 'api_key': {
        const value = await storedValue(server, secret)
        return { headers: { 'x-api-key': value }, value }
      }
      case 'bearer_token':
      case 'basic':
      case 'authorization': {
        const value = await storedValue(server, secret)
        return { headers: { authorization: authorizationValue(server.auth_type, value) }, value }
      }
    }
  }

  return {
    async headersFor(server, { signal }) {
      const secret = server.secret()
      const { headers, value } = await credentialOf(server, secret, signal)
      const { static_headers, client_secret } = secret
      if (value === undefined && static_headers === undefined && client_secret === undefined)
        return { headers, scrub: unchanged }
      const secrets = [value, client_secret, ...Object.values(static_headers ?? {})].filter(text => text !== undefined)
      return { headers: { ...headers, ...static_headers }, scrub: scrubber(secrets) }
    },
    async renew(server, { headers }) {
      if (server.auth_type !== 'oauth2') return false
      if (server.login === undefined) return tokens.drop(server)
      return loginTokens.renew(server, (headers['authorization'] ?? '').slice('Bearer '.length))
    },
  }
}

/** Above this length only the plain secret is searched, because every encoding costs one search. */
const maxEncodedSearch = 64 * 1024
const mark = '[secret]'

/** For answers of a server without secrets, which can stay bytes. */
export const unchanged: Authorization['scrub'] = text => text

/** Returns a function that removes the secrets from a text; `unchanged` if there are none. */
export function scrubber(all: readonly string[]): Authorization['scrub'] {
  const secrets = all.filter(isLongEnough)
  if (secrets.length === 0) return unchanged
  let echoes: ReturnType<typeof wholeEchoes> | undefined
  return text => {
    if (text.length > maxEncodedSearch) return secrets.reduce((rest, secret) => rest.replaceAll(secret, mark), text)
    echoes ??= wholeEchoes(secrets)
    return echoes.without(text)
  }
}
