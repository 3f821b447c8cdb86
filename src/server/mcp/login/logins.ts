import { createHash, randomBytes } from 'node:crypto'
import type { Audit } from '../../audit/audit.ts'
import { nextVersion, type RowCipher } from '../../db/encrypted-rows.ts'
import { sqlOfClient } from '../../db/once.ts'
import type { Actor } from '../../http/caller.ts'
import { AppError, invalid } from '../../platform/errors.ts'
import { serverFailure } from '../client/server-failure.ts'
import type { RegisteredServer } from '../registry/server.ts'
import type { AuthorizationServer, AuthorizationServers, OauthClient, TokenAnswer } from './authorization-server.ts'
import { GrantRejected } from './authorization-server.ts'
import type { AuthorizationRow, LoginPlace, LoginStore } from './store.ts'

interface Deps {
  readonly store: LoginStore
  readonly authorizationServers: AuthorizationServers
  readonly ciphers: {
    readonly authorizations: RowCipher<'mcp_authorizations'>
    readonly logins: RowCipher<'mcp_logins'>
  }
  readonly audit: Audit
  readonly redirectUri: () => string
  /** Time of day in milliseconds. */
  readonly timeMs: () => number
}

/** What the callback needs of a login that has begun. */
interface Begun {
  readonly verifier: string
  readonly redirectUri: string
  readonly client: OauthClient
  readonly at: AuthorizationServer
}

/** Stored tokens of a principal. */
export interface Tokens extends Pick<AuthorizationServer, 'tokenEndpoint' | 'revocationEndpoint' | 'clientAuth'> {
  readonly client: OauthClient
  readonly accessToken: string
  readonly refreshToken: string | undefined
  readonly endMs: number
}

/** Parameters of the callback. */
export interface Callback {
  readonly state?: string
  readonly code?: string
  readonly iss?: string
  readonly error?: string
  readonly error_description?: string
}

const lifeMs = 10 * 60_000
/** An access token is renewed this long before it expires; a short one after half of its life. */
const marginMs = 30_000

export const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url')

/** Returns where tokens of a server are stored. Throws `conflict` for a server without logins. */
export function loginPlaceOf({ server_id, server_name, login }: RegisteredServer): LoginPlace {
  if (login !== undefined) return { server_id, principal: login }
  throw new AppError(
    'conflict',
    `MCP server ${server_name} has no logins: they need auth_type oauth2 with oauth2_flow authorization_code`,
  )
}

export const tokensFrom = (
  { accessToken, refreshToken, lifeS }: TokenAnswer,
  before: Omit<Tokens, 'accessToken' | 'endMs'>,
  nowMs: number,
): Tokens => ({
  ...before,
  accessToken,
  // A server that does not rotate refresh tokens sends none.
  refreshToken: refreshToken ?? before.refreshToken,
  endMs: nowMs + Math.max(lifeS * 1_000 - marginMs, lifeS * 500),
})

/** Logins of people at MCP servers: OAuth 2.1 with PKCE, one login per principal and server. */
export type Logins = ReturnType<typeof createLogins>

export function createLogins({ store, authorizationServers, ciphers, audit, redirectUri, timeMs }: Deps) {
  async function clientFor(server: RegisteredServer, at: AuthorizationServer, uri: string): Promise<OauthClient> {
    const { client_id, client_secret } = server.secret()
    if (client_id !== undefined) return { id: client_id, secret: client_secret }
    if (at.registrationEndpoint !== undefined)
      return authorizationServers.register(server, at.registrationEndpoint, uri)
    throw new AppError(
      'upstream_unreachable',
      `MCP server ${server.server_name} has an authorization server that registers no clients; set credentials.client_id`,
    )
  }

  return {
    /** Begins a login and returns the address that a person opens. */
    async begin(
      server: RegisteredServer,
    ): Promise<{ readonly authorization_url: string; readonly expires_at: string }> {
      const { server_id, principal } = loginPlaceOf(server)
      const { scopes: named, ...found } = await authorizationServers.discover(server)
      const at = withTrustedEndpoints(found, server)
      const uri = redirectUri()
      const client = await clientFor(server, at, uri)
      const [state, verifier] = [randomBytes(32).toString('base64url'), randomBytes(32).toString('base64url')]
      const place = {
        state_hash: hashOf(state),
        server_id,
        principal,
        url: server.url,
        version: nextVersion(undefined),
      }
      const begun: Begun = { verifier, redirectUri: uri, client, at }
      await store.begin({ ...place, ...ciphers.authorizations.encrypt(JSON.stringify(begun), place) }, lifeMs)
      const scopes = server.secret().scopes ?? named
      const url = new URL(at.authorizationEndpoint)
      for (const [name, value] of Object.entries({
        response_type: 'code',
        client_id: client.id,
        redirect_uri: uri,
        state,
        code_challenge: hashOf(verifier),
        code_challenge_method: 'S256',
        resource: server.url,
        ...(scopes.length > 0 && { scope: scopes.join(' ') }),
      }))
        url.searchParams.set(name, value)
      return { authorization_url: url.href, expires_at: new Date(timeMs() + lifeMs).toISOString() }
    },

    /** Returns the login with this state without using it. Throws `invalid_request`. */
    async opened({ state = '' }: Callback): Promise<Omit<Taken, 'begun'>> {
      return placed(await store.open(hashOf(state)))
    },

    /** Returns the login with this state, which is valid once. Throws `invalid_request`. */
    async take({ state = '' }: Callback): Promise<Taken> {
      const row = placed(await store.take(hashOf(state)))
      return { ...row, begun: JSON.parse(ciphers.authorizations.decrypt(row.stored).toString()) as Begun }
    },

    /** Exchanges the code of a callback for tokens and stores them. Throws `invalid_request` for a rejected login. */
    async complete(server: RegisteredServer, { place, begun }: Taken, callback: Callback, actor: Actor): Promise<void> {
      const { at, client, verifier } = begun
      const { code, iss, error, error_description: details = '' } = callback
      // A code of another authorization server must not be sent to this one.
      if (iss === undefined ? at.sendsIssuer : iss !== at.issuer) throw invalid('the callback has another issuer')
      if (error !== undefined) throw invalid(`the authorization server rejected the login: ${error} ${details}`.trim())
      if (code === undefined) throw invalid('code is required')
      const form = {
        grant_type: 'authorization_code',
        code,
        redirect_uri: begun.redirectUri,
        code_verifier: verifier,
        resource: server.url,
      }
      const { tokenEndpoint, revocationEndpoint, clientAuth } = at
      const answer = await authorizationServers
        .token(server, tokenEndpoint, { client, clientAuth, form })
        .catch((cause: unknown) => {
          if (cause instanceof GrantRejected) throw invalid('the authorization server rejected the code; begin again')
          throw cause
        })
      const before = { tokenEndpoint, revocationEndpoint, clientAuth, client, refreshToken: undefined }
      const tokens = tokensFrom(answer, before, timeMs())
      const row = { ...place, url: server.url, version: nextVersion(undefined) }
      await store.transaction(async sql => {
        await store.set(sql, { ...row, ...ciphers.logins.encrypt(JSON.stringify(tokens), row) })
        const { principal } = place
        const after = { principal, server_name: server.server_name }
        await audit.record(sqlOfClient(sql), { actor, action: 'mcp_login.create', objectId: place.server_id, after })
      })
    },

    /** Deletes the login of a principal and revokes its tokens. */
    async remove(server: RegisteredServer, actor: Actor): Promise<boolean> {
      const place = loginPlaceOf(server)
      const row = await store.find(place, server.url)
      const isRemoved = await store.transaction(async sql => {
        if (!(await store.remove(sql, place))) return false
        const before = { principal: place.principal, server_name: server.server_name }
        await audit.record(sqlOfClient(sql), { actor, action: 'mcp_login.delete', objectId: place.server_id, before })
        return true
      })
      if (!row) return isRemoved
      const { client, clientAuth, revocationEndpoint, accessToken, refreshToken } = JSON.parse(
        ciphers.logins.decrypt(row).toString(),
      ) as Tokens
      if (revocationEndpoint !== undefined) {
        const form = { token: refreshToken ?? accessToken }
        await authorizationServers.revoke(server, revocationEndpoint, { client, clientAuth, form })
      }
      return isRemoved
    },
  }
}

/**
 * Returns the authorization server with the endpoints that may get the client secret of the admin: those on the origin of
 * `credentials.token_url`, else of the MCP server. That server names them, and could have the secret sent anywhere. Security: S25.
 */
function withTrustedEndpoints(at: AuthorizationServer, server: RegisteredServer): AuthorizationServer {
  const { client_secret, token_url } = server.secret()
  if (client_secret === undefined && token_url === undefined) return at
  const { origin } = new URL(token_url ?? server.url)
  const isTrusted = (url: string) => new URL(url).origin === origin
  if (!isTrusted(at.tokenEndpoint)) {
    const place = token_url === undefined ? 'its own origin; set' : 'the origin of'
    throw serverFailure(server, `has no token endpoint on ${place} credentials.token_url`)
  }
  const { revocationEndpoint } = at
  return revocationEndpoint === undefined || isTrusted(revocationEndpoint)
    ? at
    : { ...at, revocationEndpoint: undefined }
}

/** Throws `invalid_request` without a login. */
function placed(stored: AuthorizationRow | undefined) {
  if (!stored) throw invalid('this login is unknown, was used or has expired; begin it again')
  const { server_id, principal, url } = stored
  return { place: { server_id, principal }, url, stored }
}

interface Taken {
  readonly place: LoginPlace
  /** The address of the server when the login began. */
  readonly url: string
  readonly begun: Begun
}
