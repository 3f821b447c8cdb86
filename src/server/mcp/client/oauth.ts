import { basicAuthorization } from '../../platform/authorization.ts'
import { jsonOr, recordOf, textIn } from '../../platform/json.ts'
import { blockedReasonFor, type Outbound } from '../../platform/outbound.ts'
import { ResponseTooLong, smallRequest } from '../../platform/small-request.ts'
import type { RegisteredServer, ServerSecret } from '../registry/server.ts'
import { serverFailure } from './server-failure.ts'
import { tokenIn } from './token-answer.ts'

/** Access tokens of servers with `oauth2`, fetched with client credentials. */
export interface OauthTokens {
  /** Returns a valid token. Concurrent calls share one request. */
  tokenFor(server: RegisteredServer, secret: ServerSecret, signal: AbortSignal): Promise<string>
  /** Forgets the token of a server; false when there was none. */
  drop(server: RegisteredServer): boolean
}

interface Deps {
  readonly outbound: Pick<Outbound, 'connect'>
  readonly guard: () => Pick<Outbound, 'judge' | 'lists'>
  readonly nowMs: () => number
}

interface Token {
  readonly value: string
  readonly endMs: number
}

const totalMs = 15_000
const maxBytes = 64 * 1024
/** A token is renewed this long before it expires. */
const marginMs = 30_000

export function createOauthTokens({ outbound, guard, nowMs }: Deps): OauthTokens {
  const tokens = new Map<string, Promise<Token>>()

  async function fetchToken(server: RegisteredServer, secret: ServerSecret): Promise<Token> {
    const { client_id, client_secret, scopes = [] } = secret
    if (client_id === undefined || client_secret === undefined)
      throw serverFailure(server, `has no client credentials; send them with PUT /v1/mcp/server/${server.server_id}`)
    const url = secret.token_url ?? (await discovered(server))
    const form = new URLSearchParams({ grant_type: 'client_credentials', resource: server.url })
    if (scopes.length > 0) form.set('scope', scopes.join(' '))
    const basic = [client_id, client_secret].map(encodeURIComponent).join(':')
    const { status, text } = await fetched(server, url, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: basicAuthorization(basic),
      },
      body: form.toString(),
    })
    const token = tokenIn(status, recordOf(jsonOr(text, undefined)))
    if (!token) throw serverFailure(server, `got no token from its token endpoint (status ${status})`)
    return { value: token.value, endMs: nowMs() + token.lifeS * 1_000 - marginMs }
  }

  /** Returns the token endpoint from the metadata of the server's own origin; it must be on that origin. Security: S25. */
  async function discovered(server: RegisteredServer): Promise<string> {
    const { origin } = new URL(server.url)
    const { status, text } = await fetched(server, `${origin}/.well-known/oauth-authorization-server`, {
      method: 'GET',
    })
    const endpoint = textIn(recordOf(jsonOr(text, undefined))['token_endpoint'])
    if (status !== 200 || endpoint === undefined || URL.parse(endpoint)?.origin !== origin)
      throw serverFailure(server, 'has no token endpoint on its own origin; set credentials.token_url')
    return endpoint
  }

  async function fetched(server: RegisteredServer, url: string, call: Call): Promise<{ status: number; text: string }> {
    const problem = blockedReasonFor(url, guard())
    if (problem !== undefined) throw serverFailure(server, `has a token endpoint that is not allowed: ${problem}`)
    const headers = { accept: 'application/json', ...call.headers }
    try {
      return await smallRequest(outbound, { ...call, url, headers, maxBytes, totalMs })
    } catch (cause) {
      if (cause instanceof ResponseTooLong)
        throw serverFailure(server, `has a token endpoint whose answer exceeds ${maxBytes} bytes`)
      throw serverFailure(server, 'has a token endpoint that is unreachable', cause)
    }
  }

  return {
    async tokenFor(server, secret, signal) {
      const key = keyOf(server)
      const current = tokens.get(key)
      if (current) {
        const token = await current.catch(() => undefined)
        if (token && token.endMs > nowMs()) return token.value
        if (tokens.get(key) === current) tokens.delete(key)
      }
      const pending = tokens.get(key) ?? fetchToken(server, secret)
      tokens.set(key, pending)
      try {
        const { value } = await pending
        signal.throwIfAborted()
        return value
      } catch (error) {
        if (tokens.get(key) === pending) tokens.delete(key)
        throw error
      }
    },
    drop: server => tokens.delete(keyOf(server)),
  }
}

interface Call {
  readonly method: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

const keyOf = ({ server_id, version }: RegisteredServer): string => `${server_id} ${version}`
