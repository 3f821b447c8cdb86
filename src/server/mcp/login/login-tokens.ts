import { nextVersion, type RowCipher } from '../../db/encrypted-rows.ts'
import { AppError } from '../../platform/errors.ts'
import { pause } from '../../platform/timers.ts'
import type { RegisteredServer } from '../registry/server.ts'
import { type AuthorizationServers, GrantRejected } from './authorization-server.ts'
import { type Logins, loginPlaceOf, type Tokens, tokensFrom } from './logins.ts'
import type { LoginRow, LoginStore } from './store.ts'

interface Deps {
  readonly store: LoginStore
  readonly logins: Pick<Logins, 'begin'>
  readonly authorizationServers: Pick<AuthorizationServers, 'token'>
  readonly cipher: RowCipher<'mcp_logins'>
  /** Time of day in milliseconds. */
  readonly timeMs: () => number
}

/** How long one process may refresh before another one tries. */
const leaseMs = 20_000
const pollMs = 200
/** How long the address of a login is repeated in errors, so that not every call begins a login. */
const repeatMs = 5 * 60_000
const maxRepeated = 500

/** Access tokens of logins. One process at a time refreshes a login, since servers rotate refresh tokens. */
export type LoginTokens = ReturnType<typeof createLoginTokens>

export function createLoginTokens({ store, logins, authorizationServers, cipher, timeMs }: Deps) {
  const begun = new Map<string, { readonly url: Promise<string>; readonly untilMs: number }>()
  /** Refreshes of this process. */
  const refreshing = new Map<string, Promise<string>>()

  const tokensOf = (row: LoginRow): Tokens => JSON.parse(cipher.decrypt(row).toString()) as Tokens

  function addressOf(server: RegisteredServer, key: string): Promise<string> {
    const known = begun.get(key)
    if (known && known.untilMs > timeMs()) return known.url
    const [oldest] = begun.keys()
    if (oldest !== undefined && begun.size >= maxRepeated) begun.delete(oldest)
    const url = logins.begin(server).then(({ authorization_url }) => authorization_url)
    begun.set(key, { url, untilMs: timeMs() + repeatMs })
    url.catch(() => begun.delete(key))
    return url
  }

  async function needsLogin(server: RegisteredServer): Promise<AppError> {
    const { server_id, principal } = loginPlaceOf(server)
    const url = await addressOf(server, JSON.stringify([server_id, principal, server.url]))
    return new AppError(
      'upstream_unreachable',
      `MCP server ${server.server_name} needs a login of ${principal}; open ${url}`,
      { fields: { authorization_url: url } },
    )
  }

  async function refreshNow(server: RegisteredServer, row: LoginRow): Promise<string> {
    const tokens = tokensOf(row)
    const { client, clientAuth, refreshToken } = tokens
    if (refreshToken === undefined) {
      await store.remove(undefined, row, row.version)
      throw await needsLogin(server)
    }
    const form = { grant_type: 'refresh_token', refresh_token: refreshToken, resource: server.url }
    try {
      const answer = await authorizationServers.token(server, tokens.tokenEndpoint, { client, clientAuth, form })
      const after = tokensFrom(answer, tokens, timeMs())
      const { server_id, principal, url } = row
      const place = { server_id, principal, url, version: nextVersion(row.version) }
      await store.refreshed(row, { ...place, ...cipher.encrypt(JSON.stringify(after), place) })
      return after.accessToken
    } catch (error) {
      if (error instanceof GrantRejected) {
        await store.remove(undefined, row, row.version)
        throw await needsLogin(server)
      }
      await store.releaseRefresh(row)
      throw error
    }
  }

  /** Refreshes a login, or waits until another process has. */
  async function refresh(server: RegisteredServer, row: LoginRow): Promise<string> {
    const endMs = timeMs() + leaseMs + pollMs
    while (timeMs() < endMs) {
      if (await store.claimRefresh(row, leaseMs)) return refreshNow(server, row)
      await pause(pollMs)
      const now = await store.find(row, row.url)
      if (!now) throw await needsLogin(server)
      if (now.version !== row.version) return tokensOf(now).accessToken
    }
    throw new AppError(
      'upstream_timeout',
      `the login at MCP server ${server.server_name} could not be refreshed in time`,
    )
  }

  function refreshOnce(server: RegisteredServer, row: LoginRow): Promise<string> {
    const key = JSON.stringify([row.server_id, row.principal, row.version])
    const current = refreshing.get(key)
    if (current) return current
    const started = refresh(server, row).finally(() => refreshing.delete(key))
    refreshing.set(key, started)
    return started
  }

  return {
    /** Returns an access token. Throws `upstream_unreachable` with the address of a login when there is none. */
    async tokenFor(server: RegisteredServer): Promise<string> {
      const row = await store.find(loginPlaceOf(server), server.url)
      if (!row) throw await needsLogin(server)
      const { accessToken, endMs } = tokensOf(row)
      return endMs > timeMs() ? accessToken : refreshOnce(server, row)
    },

    /** Replaces the access token that a server has rejected; false if there is no login. */
    async renew(server: RegisteredServer, rejected: string): Promise<boolean> {
      const row = await store.find(loginPlaceOf(server), server.url)
      if (!row) return false
      if (tokensOf(row).accessToken === rejected) await refreshOnce(server, row)
      return true
    },
  }
}
