import * as oauth from 'oauth4webapi'
import type { OidcSettings } from '../config/config.ts'
import { AppError } from '../platform/errors.ts'
import type { Json } from '../platform/json.ts'
import { blockedReasonFor, type Outbound } from '../platform/outbound.ts'
import { smallRequest } from '../platform/small-request.ts'
import type { Attempt } from './attempt-cookie.ts'
import { mergedClaims } from './claims.ts'

type Settings = Pick<OidcSettings, 'issuer' | 'name' | 'clientId' | 'scopes' | 'claims'>

/** An identity provider. Its tokens are only used during a sign-in, and never stored. */
export interface IdentityProvider {
  /** Returns a new sign-in, and the address to send the browser to. Rejects with `upstream_unreachable`. */
  begin(): Promise<{ readonly attempt: Attempt; readonly url: string }>
  /**
   * Returns the claims of the account that signed in. Rejects with `invalid_request` for an answer that is not valid for the
   * attempt, and with `upstream_unreachable`.
   */
  complete(attempt: Attempt, returned: URLSearchParams): Promise<Json>
}

interface Deps {
  readonly settings: Settings
  /** Returns the secret of the client; undefined for a public client. Rejects with `unavailable`. */
  readonly clientSecret: () => Promise<string | undefined>
  readonly redirectUri: () => string
  readonly outbound: Pick<Outbound, 'connect'>
  readonly guard: () => Pick<Outbound, 'judge' | 'lists'>
  /** Monotonic. */
  readonly nowMs: () => number
}

const maxBytes = 512 * 1024
const totalMs = 10_000
/** How long the metadata of the provider is cached. */
const metadataMs = 10 * 60_000

export function createIdentityProvider(deps: Deps): IdentityProvider {
  const { settings, redirectUri, nowMs } = deps
  const issuer = new URL(settings.issuer)
  const client: oauth.Client = { client_id: settings.clientId }
  const options = { [oauth.customFetch]: createFetch(deps), [oauth.allowInsecureRequests]: issuer.protocol === 'http:' }
  let cached: { readonly server: oauth.AuthorizationServer; readonly sinceMs: number } | undefined
  let loading: Promise<oauth.AuthorizationServer> | undefined

  async function load(): Promise<oauth.AuthorizationServer> {
    const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, options))
    cached = { server, sinceMs: nowMs() }
    return server
  }

  /** Concurrent sign-ins share a request, since anybody may begin one. */
  async function metadata(): Promise<oauth.AuthorizationServer> {
    if (cached && nowMs() - cached.sinceMs < metadataMs) return cached.server
    loading ??= load().finally(() => {
      loading = undefined
    })
    return loading
  }

  async function claimsOf(attempt: Attempt, returned: URLSearchParams): Promise<Json> {
    const server = await metadata()
    const params = oauth.validateAuthResponse(server, client, returned, attempt.state)
    const authentication = authenticationOf(server, await deps.clientSecret())
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      authentication,
      params,
      redirectUri(),
      attempt.verifier,
      options,
    )
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, {
      expectedNonce: attempt.nonce,
      requireIdToken: true,
    })
    await oauth.validateApplicationLevelSignature(server, response, options)
    const claims = oauth.getValidatedIdTokenClaims(tokens)
    if (!claims) throw new AppError('invalid_request', 'the identity provider sent no identity')
    if (!server.userinfo_endpoint || hasAll(claims, settings)) return claims
    const info = await oauth.userInfoRequest(server, client, tokens.access_token, options)
    const more = await oauth.processUserInfoResponse(server, client, claims.sub, info)
    return mergedClaims(claims, more, settings.claims)
  }

  return {
    async begin() {
      try {
        const { authorization_endpoint: endpoint } = await metadata()
        if (endpoint === undefined) throw new Error('metadata without an authorization endpoint')
        const verifier = oauth.generateRandomCodeVerifier()
        const attempt = { state: oauth.generateRandomState(), nonce: oauth.generateRandomNonce(), verifier }
        const url = new URL(endpoint)
        if (!/^https?:$/.test(url.protocol)) throw new Error('authorization endpoint is not a web address')
        for (const [name, value] of Object.entries({
          client_id: settings.clientId,
          redirect_uri: redirectUri(),
          response_type: 'code',
          scope: settings.scopes.join(' '),
          state: attempt.state,
          nonce: attempt.nonce,
          code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
        }))
          url.searchParams.set(name, value)
        return { attempt, url: url.href }
      } catch (cause) {
        throw failureOf(cause, settings)
      }
    },
    async complete(attempt, returned) {
      try {
        return await claimsOf(attempt, returned)
      } catch (cause) {
        throw failureOf(cause, settings)
      }
    },
  }
}

/** True if no claim is missing that the provider may send with the user information instead. */
const hasAll = (claims: Json, { claims: names }: Settings): boolean =>
  [names.owner, names.email, names.name, names.groups, 'email_verified'].every(
    name => name === undefined || claims[name] !== undefined,
  )

function authenticationOf(server: oauth.AuthorizationServer, secret: string | undefined): oauth.ClientAuth {
  if (secret === undefined) return oauth.None()
  const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  return methods.includes('client_secret_basic') ? oauth.ClientSecretBasic(secret) : oauth.ClientSecretPost(secret)
}

/** Returns a fetch that only calls allowed addresses, and follows no redirects. Security: S23. */
const createFetch =
  ({ outbound, guard }: Pick<Deps, 'outbound' | 'guard'>) =>
  async (url: string, request: oauth.CustomFetchOptions<string, unknown>): Promise<Response> => {
    const problem = blockedReasonFor(url, guard())
    if (problem !== undefined) throw new Error(problem)
    const { method, headers, body } = request
    if (method !== 'GET' && method !== 'POST') throw new Error(`method ${method} is not used here`)
    const { status, text } = await smallRequest(outbound, {
      method,
      url,
      headers,
      maxBytes,
      totalMs,
      ...(body !== undefined && body !== null && { body: String(body) }),
    })
    // Content that is not JSON fails when it is parsed.
    return new Response(text, { status, headers: { 'content-type': 'application/json' } })
  }

/** Errors of the library that say that an answer of the provider, or of somebody else, was wrong. */
const reasons: Readonly<Record<string, string>> = {
  [oauth.JWT_CLAIM_COMPARISON]: 'the identity provider sent a token for another sign-in',
  [oauth.JWT_TIMESTAMP_CHECK]: 'the token of the identity provider has expired; check the clocks of both servers',
  [oauth.INVALID_RESPONSE]: 'the answer does not belong to this sign-in; begin again',
}

/** Returns a public error; the details are for the log. */
function failureOf(cause: unknown, { name }: Settings): AppError {
  if (cause instanceof AppError) return cause
  if (cause instanceof oauth.AuthorizationResponseError)
    return new AppError('invalid_request', `${name} did not complete the sign-in: ${wordOf(cause.error)}`, { cause })
  if (cause instanceof oauth.ResponseBodyError)
    return new AppError('invalid_request', `${name} rejected the sign-in: ${wordOf(cause.error)}; begin again`, {
      cause,
    })
  const reason = cause instanceof oauth.OperationProcessingError ? reasons[cause.code ?? ''] : undefined
  if (reason !== undefined) return new AppError('invalid_request', reason, { cause })
  return new AppError('upstream_unreachable', `${name} is unreachable or its answer is not valid; try again later`, {
    cause,
  })
}

/** Returns an error code of the provider, such as `access_denied`; other text stays out of the page. */
const wordOf = (error: string): string => (/^[\w.-]{1,100}$/.test(error) ? error : 'unknown error')
