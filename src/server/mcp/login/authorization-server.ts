import { basicAuthorization } from '../../platform/authorization.ts'
import { type Json, jsonOr, listOf, nonEmptyText, recordOf, textIn, textOf } from '../../platform/json.ts'
import { blockedReasonFor, type Outbound } from '../../platform/outbound.ts'
import { smallRequest } from '../../platform/small-request.ts'
import { withoutTrailing } from '../../platform/trailing.ts'
import { serverFailure } from '../client/server-failure.ts'
import { tokenIn } from '../client/token-answer.ts'
import type { RegisteredServer } from '../registry/server.ts'

interface Deps {
  readonly outbound: Pick<Outbound, 'connect'>
  readonly guard: () => Pick<Outbound, 'judge' | 'lists'>
}

/** Endpoints of the authorization server of an MCP server, from its metadata. */
export interface AuthorizationServer {
  readonly issuer: string
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  readonly registrationEndpoint: string | undefined
  readonly revocationEndpoint: string | undefined
  /** True if every callback has the issuer. */
  readonly sendsIssuer: boolean
  /** How a client with a secret authenticates. */
  readonly clientAuth: 'basic' | 'post'
}

export interface OauthClient {
  readonly id: string
  readonly secret?: string | undefined
}

/** Tokens of a token endpoint. */
export interface TokenAnswer {
  readonly accessToken: string
  readonly refreshToken: string | undefined
  readonly lifeS: number
}

interface Fetched {
  readonly status: number
  readonly body: Json
}

/** The token endpoint rejected the code or the refresh token. */
export class GrantRejected extends Error {
  override readonly name = 'GrantRejected'
}

const totalMs = 10_000

/** Talks to authorization servers. Every address passes the outbound guard; redirects are not followed. Security: S24, S25. */
export type AuthorizationServers = ReturnType<typeof createAuthorizationServers>

export function createAuthorizationServers({ outbound, guard }: Deps) {
  function checked(server: RegisteredServer, url: string, what: string): string {
    const problem = blockedReasonFor(url, guard())
    if (problem !== undefined) throw serverFailure(server, `has a ${what} that is not allowed: ${problem}`)
    return url
  }

  async function get(server: RegisteredServer, url: string): Promise<Fetched> {
    checked(server, url, 'metadata address')
    try {
      const headers = { accept: 'application/json' }
      const { status, text } = await smallRequest(outbound, { method: 'GET', url, headers, totalMs })
      return { status, body: recordOf(jsonOr(text, undefined)) }
    } catch (cause) {
      throw serverFailure(server, 'has OAuth metadata that cannot be read', cause)
    }
  }

  /** Returns the issuer that the server names; its own origin if it has no metadata. */
  async function issuerOf(server: RegisteredServer): Promise<{ readonly issuer: string; readonly scopes: string[] }> {
    const { origin, pathname } = new URL(server.url)
    const base = `${origin}/.well-known/oauth-protected-resource`
    for (const url of pathname === '/' ? [base] : [`${base}${pathname}`, base]) {
      const { status, body } = await get(server, url)
      if (status !== 200) continue
      const resource = nonEmptyText(body['resource'])
      // Metadata of another resource would send tokens of this one elsewhere.
      if (resource === undefined || !isWithin(server.url, resource))
        throw serverFailure(server, 'has OAuth metadata of another resource')
      const issuer = nonEmptyText(listOf(body['authorization_servers'])[0])
      if (issuer === undefined) throw serverFailure(server, 'names no authorization server in its OAuth metadata')
      const scopes = listOf(body['scopes_supported']).map(textIn)
      return { issuer, scopes: scopes.filter(scope => scope !== undefined) }
    }
    return { issuer: origin, scopes: [] }
  }

  async function metadataOf(server: RegisteredServer, issuer: string): Promise<Json> {
    checked(server, issuer, 'authorization server')
    const { origin, pathname } = new URL(issuer)
    const path = withoutTrailing(pathname, '/')
    const names = ['oauth-authorization-server', 'openid-configuration']
    const urls = names.map(name => `${origin}/.well-known/${name}${path}`)
    if (path !== '') urls.push(`${origin}${path}/.well-known/openid-configuration`)
    for (const url of urls) {
      const { status, body } = await get(server, url)
      if (status !== 200) continue
      if (withoutTrailing(textOf(body['issuer']), '/') !== withoutTrailing(issuer, '/'))
        throw serverFailure(server, 'has an authorization server whose metadata is that of another issuer')
      return body
    }
    throw serverFailure(server, 'has an authorization server without metadata')
  }

  async function post(server: RegisteredServer, url: string, call: PostCall): Promise<Fetched> {
    checked(server, url, 'token endpoint')
    const headers = { accept: 'application/json', ...call.headers }
    try {
      const { status, text } = await smallRequest(outbound, { method: 'POST', url, headers, body: call.body, totalMs })
      return { status, body: recordOf(jsonOr(text, undefined)) }
    } catch (cause) {
      throw serverFailure(server, 'has an authorization server that is unreachable', cause)
    }
  }

  /** Sends a form with the authentication of the client. */
  function postForm(server: RegisteredServer, url: string, { client, clientAuth, form }: FormCall): Promise<Fetched> {
    const body = new URLSearchParams(form)
    const basic = [client.id, client.secret ?? ''].map(encodeURIComponent).join(':')
    const isBasic = client.secret !== undefined && clientAuth === 'basic'
    if (!isBasic) body.set('client_id', client.id)
    if (!isBasic && client.secret !== undefined) body.set('client_secret', client.secret)
    return post(server, url, {
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        ...(isBasic && { authorization: basicAuthorization(basic) }),
      },
      body: body.toString(),
    })
  }

  return {
    /** Finds the authorization server of an MCP server, and the scopes that the resource names. */
    async discover(server: RegisteredServer): Promise<AuthorizationServer & { readonly scopes: readonly string[] }> {
      const { issuer, scopes } = await issuerOf(server)
      const metadata = await metadataOf(server, issuer)
      const endpoint = (name: string): string | undefined => {
        const url = nonEmptyText(metadata[name])
        return url === undefined ? undefined : checked(server, url, name)
      }
      const authorizationEndpoint = endpoint('authorization_endpoint')
      const tokenEndpoint = endpoint('token_endpoint')
      if (authorizationEndpoint === undefined || tokenEndpoint === undefined)
        throw serverFailure(server, 'has an authorization server without the endpoints of a login')
      if (!listOf(metadata['code_challenge_methods_supported']).includes('S256'))
        throw serverFailure(server, 'has an authorization server that does not support PKCE with S256')
      const methods = listOf(metadata['token_endpoint_auth_methods_supported'])
      const isPostOnly = methods.includes('client_secret_post') && !methods.includes('client_secret_basic')
      return {
        issuer,
        scopes,
        authorizationEndpoint,
        tokenEndpoint,
        registrationEndpoint: endpoint('registration_endpoint'),
        revocationEndpoint: endpoint('revocation_endpoint'),
        sendsIssuer: metadata['authorization_response_iss_parameter_supported'] === true,
        clientAuth: isPostOnly ? 'post' : 'basic',
      }
    },

    /** Registers this service as a public client. */
    async register(server: RegisteredServer, url: string, redirectUri: string): Promise<OauthClient> {
      const { status, body } = await post(server, url, {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          client_name: 'Switchyard',
          application_type: 'web',
          redirect_uris: [redirectUri],
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
          token_endpoint_auth_method: 'none',
        }),
      })
      const id = nonEmptyText(body['client_id'])
      if (status >= 300 || id === undefined)
        throw serverFailure(
          server,
          `has an authorization server that rejects the registration of clients (status ${status})`,
        )
      return { id, secret: nonEmptyText(body['client_secret']) }
    },

    /** Requests tokens. Throws `GrantRejected` when the server rejects the code or the refresh token. */
    async token(server: RegisteredServer, url: string, call: FormCall): Promise<TokenAnswer> {
      const { status, body } = await postForm(server, url, call)
      if (status >= 400 && status < 500 && status !== 429) throw new GrantRejected(textIn(body['error']) ?? '')
      const token = tokenIn(status, body)
      if (!token) throw serverFailure(server, `got no token from its token endpoint (status ${status})`)
      return { accessToken: token.value, refreshToken: nonEmptyText(body['refresh_token']), lifeS: token.lifeS }
    },

    /** Revokes a token; a failure is ignored, because the token is deleted here anyway. */
    async revoke(server: RegisteredServer, url: string, call: FormCall): Promise<void> {
      await postForm(server, url, call).catch(() => undefined)
    },
  }
}

interface PostCall {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

interface FormCall {
  readonly client: OauthClient
  readonly clientAuth: AuthorizationServer['clientAuth']
  readonly form: Readonly<Record<string, string>>
}

/** True if `url` is the resource or below it. */
function isWithin(url: string, resource: string): boolean {
  const parsed = URL.parse(resource)
  const own = new URL(url)
  if (!parsed || parsed.origin !== own.origin) return false
  const path = withoutTrailing(parsed.pathname, '/')
  return own.pathname === path || own.pathname.startsWith(`${path}/`)
}
