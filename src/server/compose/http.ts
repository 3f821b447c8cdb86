import type { IncomingMessage } from 'node:http'
import type { Pool } from 'pg'
import type { Config } from '../config/config.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Authenticate } from '../http/auth.ts'
import { boundConnections } from '../http/bound-connections.ts'
import type { AddressOf } from '../http/client-address.ts'
import { createCloseServer } from '../http/close-server.ts'
import { serveDocs } from '../http/docs.ts'
import { createServer } from '../http/server.ts'
import { serveAsWorker } from '../http/worker-role.ts'
import type { McpServers } from '../mcp/registry/servers.ts'
import type { Keyring } from '../platform/encryption.ts'
import type { Part } from '../platform/lifecycle.ts'
import type { Log } from '../platform/log.ts'
import type { OpenFiles } from '../platform/open-files.ts'
import type { RequestLog } from '../platform/request-log.ts'
import type { RuntimeRegistry } from '../runtimes/runtime.ts'
import type { Readiness } from '../system/readiness.ts'
import { replicaStore } from '../system/replica-store.ts'
import { serveSystem } from '../system/routes.ts'
import { serveSettings } from '../system/settings.ts'

interface Needs {
  readonly config: Config
  /** The configuration that was read last. */
  readonly reloaded: () => Config
  readonly keyring: Keyring
  readonly pool: Pool
  /** Replica id of this process. */
  readonly owner: string
  readonly sandboxDriver: string
  readonly log: Log
  readonly requestLog: RequestLog
  readonly readiness: Readiness
  readonly files: Pick<OpenFiles, 'maxConnections'>
  readonly authenticate: Authenticate
  readonly addressOf: AddressOf
  /** True for a request of a program that this process runs. */
  readonly isFromProgram: (request: IncomingMessage) => boolean
  readonly gateway: Pick<Gateway, 'models'>
  /** Providers of the models in force. */
  readonly providers: () => readonly string[]
  readonly runtimes: Pick<RuntimeRegistry, 'list'>
  readonly mcpServers: Pick<McpServers, 'available'>
}

/** The HTTP server of all routes, with health, capabilities and API docs. */
export function composeHttp(needs: Needs) {
  const { log, requestLog, readiness, files, authenticate, addressOf, gateway, providers, runtimes, mcpServers } = needs
  const app = createServer({ authenticate, log, requestLog, addressOf })
  if (needs.config.role === 'worker') serveAsWorker(app, { isFromProgram: needs.isFromProgram })
  boundConnections(app, { log, maxConnections: files.maxConnections })
  const parts: readonly Part[] = [{ name: 'HTTP server', drain: createCloseServer(app) }]
  serveSystem(app, { readiness, providers, gateway, runtimes, mcpServers })
  serveSettings(app, {
    config: needs.config,
    reloaded: needs.reloaded,
    keyring: needs.keyring,
    store: replicaStore(needs.pool),
    owner: needs.owner,
    sandboxDriver: needs.sandboxDriver,
  })
  serveDocs(app)
  return { app, parts }
}
