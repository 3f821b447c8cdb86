import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { Kysely } from 'kysely'
import type { Pool } from 'pg'
import type { Audit } from '../audit/audit.ts'
import type { Config } from '../config/config.ts'
import { createKysely } from '../db/connect.ts'
import type { Database } from '../db/types.ts'
import { createNetworkCheck } from '../egress/check-network.ts'
import { createEgress } from '../egress/egress.ts'
import type { InnerHost } from '../egress/inner-host.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { serveModels } from '../gateway/routes.ts'
import type { SessionMemories } from '../memories/session-memories.ts'
import type { Keyring } from '../platform/encryption.ts'
import type { Part } from '../platform/lifecycle.ts'
import type { Log } from '../platform/log.ts'
import { createOutbound, type Outbound } from '../platform/outbound.ts'
import type { ResultSchemas } from '../platform/result-schema/result-schemas.ts'
import { acpKind } from '../runtimes/acp/kind.ts'
import { builtinRuntime } from '../runtimes/builtin/runtime.ts'
import { cursorKind } from '../runtimes/cursor/kind.ts'
import type { ServeRequest } from '../runtimes/local/gateway-socket.ts'
import { createLocalPrograms } from '../runtimes/local/programs.ts'
import { managedAgentsKind } from '../runtimes/managed-agents/kind.ts'
import { opencodeKind } from '../runtimes/opencode/kind.ts'
import { createRuntimeChanges } from '../runtimes/registry/changes.ts'
import { createExternalRuntimes } from '../runtimes/registry/external-runtimes.ts'
import { createHealthChecks } from '../runtimes/registry/health-checks.ts'
import { createRuntimeKeyEncryption } from '../runtimes/registry/key-encryption.ts'
import { createProbes } from '../runtimes/registry/probes.ts'
import { createRegistry } from '../runtimes/registry/registry.ts'
import { serveRuntimes } from '../runtimes/registry/routes.ts'
import { runtimeStore } from '../runtimes/registry/store.ts'
import { createGitCredentials } from '../runtimes/repositories/git-credentials.ts'
import { createGitProxy } from '../runtimes/repositories/git-proxy.ts'
import { gitProxyHost } from '../runtimes/repositories/git-script.ts'
import { createPackCache } from '../runtimes/repositories/pack-cache.ts'
import { createPullRequests } from '../runtimes/repositories/pull-requests.ts'
import { createRepositories } from '../runtimes/repositories/repositories.ts'
import { withRepository } from '../runtimes/repositories/with-repository.ts'
import { repositoryIn } from '../runtimes/repository.ts'
import type { RuntimeKind } from '../runtimes/runtime.ts'
import { createSandboxes } from '../sandboxes/sandboxes.ts'
import { createSandboxMark } from '../sessions/sandbox-mark.ts'
import { sessionStore } from '../sessions/session-store.ts'
import { createWeb } from '../tools/web/web.ts'
import type { Vault } from '../vault/vault.ts'

interface Needs {
  readonly config: Pick<Config, 'limits' | 'toolLimits'>
  /** Folder of the session workspaces. */
  readonly workspacesDir: string
  /** Id of that folder: processes that share the folder have the same id. */
  readonly folderId: string | undefined
  readonly log: Log
  readonly keyring: Keyring
  readonly pool: Pool
  /** Pool for queries made inside a transaction: a second connection of the transaction's own pool could deadlock. */
  readonly callPool: Pool
  readonly db: Kysely<Database>
  readonly audit: Audit
  readonly gateway: Gateway
  /** Outbound connections. */
  readonly outbound: Pick<Outbound, 'connect'>
  /** Checks the addresses of runtimes. */
  readonly guard: () => Outbound
  readonly configured: () => Config['runtimeHarnesses']
  /** Provider of the tool `web_search`. */
  readonly webSearch: () => Config['webSearch']
  /** Configured hosts of repositories. */
  readonly gitHosts: () => Config['gitHosts']
  /** Credentials of those hosts. */
  readonly vault: Pick<Vault, 'value'>
  /** Folder of fetched packs. */
  readonly gitCacheDir: string
  readonly memories: SessionMemories
  readonly resultSchemas: ResultSchemas
  /** Address of the service for clients. The default is known once the server listens. */
  readonly publicUrl: () => string
  /** Serves requests of programs that run on this machine. */
  readonly serveProgram: ServeRequest
  /** Hosts that the server answers for sandboxes itself. */
  readonly innerHosts: readonly InnerHost[]
}

const gibibyte = 1024 ** 3

const noClones = (driver: string): string =>
  `needs a sandbox with git and a network (bubblewrap), but this server uses the ${driver} sandbox`

/** Runtimes of agents, and the sandboxes of their tools. */
export async function composeRuntimes(needs: Needs) {
  const { config, workspacesDir, log, keyring, pool, db, audit, gateway, outbound, guard, configured, memories } = needs

  // git in sandboxes
  const cache = createPackCache({ folder: needs.gitCacheDir, maxBytes: 2 * gibibyte, maxEntryBytes: gibibyte / 2 })
  const gitProxy = createGitProxy({ guard, cache, log })
  const gitHost: InnerHost = {
    name: gitProxyHost,
    isFor: ({ environment }) => sandboxes.hasNetwork && repositoryIn(environment) !== undefined,
    serve: (request, response, { id }) => gitProxy.handle(request, response, id),
  }

  // sandboxes; `outbound.allow` is for connections of the server, which its agents must not use
  const { allowUnrestrictedEgress: allowUnrestricted = false } = config.limits
  const egress = createEgress({
    workspacesDir,
    outbound: createOutbound({ allow: [] }),
    innerHosts: [gitHost, ...needs.innerHosts],
    allowUnrestricted,
    log,
  })
  const { networkOf } = egress
  const sandboxes = await createSandboxes({ workspacesDir, log, cpus: config.limits.sandboxCpus, networkOf })
  const markSandboxRunning = createSandboxMark({ store: sessionStore(pool), folderId: needs.folderId, log })

  // local programs
  const programs = createLocalPrograms({ sandboxes, log, serve: needs.serveProgram })

  const web = createWeb({ guard, searchSettings: needs.webSearch })

  const repositories = createRepositories({
    sandboxes,
    proxy: gitProxy,
    credentialOf: createGitCredentials(needs.vault, needs.gitHosts),
    pullRequests: createPullRequests(guard),
    hosts: needs.gitHosts,
    markSandboxRunning,
  })
  /** Adds repositories to the runtimes that work in the files of a session. */
  const cloning = (kind: RuntimeKind): RuntimeKind => ({
    ...kind,
    connect(endpoint) {
      const runtime = kind.connect(endpoint)
      return runtime.workspace ? withRepository(runtime, repositories) : runtime
    },
  })

  // kinds
  const ownRuntime = builtinRuntime({
    gateway,
    modelLimits: gateway.limits,
    modelInputs: gateway.inputs,
    toolLimits: config.toolLimits,
    web,
    sandboxes,
    markSandboxRunning,
    memories,
    resultSchemas: needs.resultSchemas,
    log,
  })
  const builtin = withRepository(ownRuntime, repositories)
  const runtimeKinds: readonly RuntimeKind[] = [
    cloning(acpKind({ programs, sandboxes, markSandboxRunning, memories, log })),
    cursorKind({ outbound, memories: memories.block }),
    managedAgentsKind({ outbound, memories: memories.block }),
    cloning(opencodeKind({ outbound, memories, log, local: { programs, sandboxes, markSandboxRunning } })),
  ]
  const kinds = new Map(runtimeKinds.map(kind => [kind.spec, kind]))

  // registry
  const store = runtimeStore(db)
  const encryption = createRuntimeKeyEncryption(keyring)
  const readStore = runtimeStore(createKysely(needs.callPool))
  const externals = createExternalRuntimes({
    store: readStore,
    encryption,
    supports: spec => kinds.has(spec),
    configured,
    guard,
  })
  const registry = createRegistry({
    builtin,
    publicUrl: needs.publicUrl,
    kinds,
    externals,
    store: readStore,
    modelSecrets: gateway.echoes,
    canSearch: () => web.canSearch,
    noClones: sandboxes.hasNetwork ? undefined : noClones(sandboxes.driver),
    networkCheck: createNetworkCheck({ allowUnrestricted, sandboxes }),
  })
  const changes = createRuntimeChanges({ store, encryption, configured, guard, audit })
  const probes = createProbes({ ownId: builtin.id, kinds, externals, store, nowMs: () => performance.now() })
  const healthChecks = createHealthChecks({ externals, probes, store, log })

  const parts: readonly Part[] = [
    { name: 'sandboxes', stop: sandboxes.stopAll },
    { name: 'runtimes', stop: registry.close },
    { name: 'runtime health checks', isSessionWork: true, start: healthChecks.start, stop: healthChecks.stop },
  ]

  return {
    registry,
    sandboxes,
    /** Id of the built-in runtime. */
    ownId: builtin.id,
    workspaceOf: (sessionId: string) => join(workspacesDir, sessionId),
    parts,
    serve(app: FastifyInstance) {
      serveModels(app, {
        gateway,
        modelsOf: async runtime => ((await registry.find(runtime)) ? probes.models(runtime) : undefined),
      })
      serveRuntimes(app, { registry, changes, probes, ownModels: ({ key }) => gateway.models(key) })
    },
  }
}
