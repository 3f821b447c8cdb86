import type { FastifyInstance } from 'fastify'
import type { Kysely } from 'kysely'
import type { Pool } from 'pg'
import type { Audit } from '../audit/audit.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../db/database.ts'
import { createRowCipher } from '../db/encrypted-rows.ts'
import type { Notifications } from '../db/notifications.ts'
import type { StreamSlots } from '../http/stream-slots.ts'
import type { Keys } from '../keys/keys.ts'
import { createAgentMcp } from '../mcp/agents/agent-mcp.ts'
import { createAgentMcpCheck } from '../mcp/agents/agent-mcp-check.ts'
import { createCredentialProbe } from '../mcp/agents/credential-probe.ts'
import { createProgramServer } from '../mcp/agents/program-server.ts'
import { createAggregate } from '../mcp/aggregate/aggregate.ts'
import { serveMcpAggregate } from '../mcp/aggregate/routes.ts'
import { createBridge } from '../mcp/bridge/bridge.ts'
import { createMcpCallLog } from '../mcp/calls/call-log.ts'
import { serveMcpCalls } from '../mcp/calls/routes.ts'
import { mcpCallStore } from '../mcp/calls/store.ts'
import { createAuthorize } from '../mcp/client/authorize.ts'
import { createMcpClient } from '../mcp/client/client.ts'
import { createOauthTokens } from '../mcp/client/oauth.ts'
import { createUpstream, type Upstream } from '../mcp/client/upstream.ts'
import { createAuthorizationServers } from '../mcp/login/authorization-server.ts'
import { createLoginTokens } from '../mcp/login/login-tokens.ts'
import { createLogins } from '../mcp/login/logins.ts'
import { serveMcpLogins } from '../mcp/login/routes.ts'
import { loginStore } from '../mcp/login/store.ts'
import { serveMcpProxy } from '../mcp/proxy/routes.ts'
import { createSessionIds } from '../mcp/proxy/session-ids.ts'
import { serverOfConfiguration } from '../mcp/registry/configured.ts'
import { createServerEncryption } from '../mcp/registry/credentials.ts'
import { serveMcpServers } from '../mcp/registry/routes.ts'
import { createServerCache } from '../mcp/registry/server-cache.ts'
import { createMcpServers } from '../mcp/registry/servers.ts'
import { mcpStateStore } from '../mcp/registry/state-store.ts'
import { mcpServerStore } from '../mcp/registry/store.ts'
import { createStdioPrograms } from '../mcp/stdio/programs.ts'
import { createStdioUpstream } from '../mcp/stdio/upstream.ts'
import { serveMcpTools } from '../mcp/tools/routes.ts'
import { createMcpTools } from '../mcp/tools/tools.ts'
import type { Keyring } from '../platform/encryption.ts'
import type { Part } from '../platform/lifecycle.ts'
import type { Log } from '../platform/log.ts'
import type { Outbound } from '../platform/outbound.ts'
import { startCommand } from '../runtimes/local/programs.ts'
import type { Sandboxes } from '../sandboxes/sandboxes.ts'
import type { Vault } from '../vault/vault.ts'

interface Needs {
  readonly log: Log
  readonly pool: Pool
  readonly db: Kysely<Database>
  readonly keyring: Keyring
  readonly notifications: Pick<Notifications, 'on' | 'onReconnect' | 'send'>
  readonly audit: Audit
  readonly vault: Vault
  readonly sandboxes: Pick<Sandboxes, 'open'>
  readonly keys: Pick<Keys, 'watch'>
  /** Known once the engine is composed. */
  readonly slots: () => StreamSlots
  /** Outbound connections. */
  readonly outbound: Pick<Outbound, 'connect'>
  /** Checks the addresses of servers. */
  readonly guard: () => Outbound
  /** Servers of the configuration file. */
  readonly configured: () => Config['mcpServers']
  readonly publicUrl: () => string
  /** Returns the credential that a session has for the address of a server. */
  readonly credentialFor: Parameters<typeof createAgentMcp>[0]['credentialFor']
  readonly shutdown: AbortSignal
}

/** MCP servers: the registry, the proxy to them, and their tools. */
export function composeMcp(needs: Needs) {
  const { log, pool, keyring, vault, outbound, guard } = needs
  const nowMs = () => performance.now()

  // registry
  const states = mcpStateStore(pool)
  const store = mcpServerStore(pool)
  const loginRows = loginStore(pool)
  const servers = createMcpServers({
    store,
    cache: createServerCache({ store, notifications: needs.notifications, nowMs }),
    states,
    logins: loginRows,
    encryption: createServerEncryption(keyring),
    configured: () => needs.configured().map(serverOfConfiguration),
    guard,
    audit: needs.audit,
  })

  // connections
  const tokens = createOauthTokens({ outbound, guard, nowMs })
  const timeMs = () => Date.now()
  const authorizationServers = createAuthorizationServers({ outbound, guard })
  const ciphers = {
    authorizations: createRowCipher(keyring, 'mcp_authorizations'),
    logins: createRowCipher(keyring, 'mcp_logins'),
  }
  const logins = createLogins({
    store: loginRows,
    authorizationServers,
    ciphers,
    audit: needs.audit,
    redirectUri: () => `${needs.publicUrl()}/oauth/mcp/callback`,
    timeMs,
  })
  const loginTokens = createLoginTokens({
    store: loginRows,
    logins,
    authorizationServers,
    cipher: ciphers.logins,
    timeMs,
  })
  const http = createUpstream({ outbound, authorize: createAuthorize({ vault, tokens, loginTokens }) })
  const stdio = createStdioUpstream(
    createStdioPrograms({ sandboxes: needs.sandboxes, startCommand, vault, log, nowMs }),
  )
  const upstream: Upstream = {
    exchange: (server, call) => (server.stdio ? stdio : http).exchange(server, call),
  }
  const client = createMcpClient({
    upstream,
    knownEra: async server => (await states.find(server))?.era ?? undefined,
    nowMs,
  })
  const sessionIds = createSessionIds(keyring)
  const callRows = mcpCallStore(pool, needs.db)
  const calls = createMcpCallLog({ store: callRows, log })
  const bridge = createBridge({ upstream, client, sessionIds, notifications: needs.notifications, keyring, nowMs })
  const tools = createMcpTools({ client, states, calls, nowMs })
  const agentMcp = createAgentMcp({ servers, tools, credentialFor: needs.credentialFor })

  const parts: readonly Part[] = [
    { name: 'log of MCP calls', start: calls.start, stop: calls.stop },
    { name: 'MCP connections', stop: http.close },
    { name: 'MCP programs', stop: stdio.close },
    { name: 'MCP sessions', stop: client.close },
    { name: 'MCP bridge', stop: async () => bridge.close() },
  ]

  return {
    servers,
    agentMcp,
    probeCredential: createCredentialProbe(client),
    /** Returns the check of agents; `isRemote` is true for runtimes that call servers by themselves. */
    agentCheck: (isRemote: (runtime: string) => Promise<boolean>) =>
      createAgentMcpCheck({ agentMcp, tools, guard, isRemote }),
    parts,
    serve(app: FastifyInstance) {
      serveMcpServers(app, { servers })
      serveMcpLogins(app, { servers, logins })
      serveMcpTools(app, { servers, tools })
      serveMcpCalls(app, { calls: callRows })
      const aggregate = createAggregate({ servers, tools, callTool: bridge.callTool })
      serveMcpAggregate(app, { aggregate, sessionIds, publicUrl: needs.publicUrl })
      serveMcpProxy(app, {
        servers,
        upstream,
        sessionIds,
        bridge,
        calls,
        keys: needs.keys,
        slots: needs.slots(),
        publicUrl: needs.publicUrl,
        shutdown: needs.shutdown,
        answerProgram: createProgramServer({ agentMcp, tools }),
      })
    },
  }
}
