import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { Kysely } from 'kysely'
import type { Pool } from 'pg'
import { createFrontEnds } from '../ag-ui/front-ends.ts'
import { threadStore } from '../ag-ui/thread-store.ts'
import type { Audit } from '../audit/audit.ts'
import type { Config } from '../config/config.ts'
import { createKysely } from '../db/connect.ts'
import type { Database } from '../db/database.ts'
import { createNetworkCheck } from '../egress/check-network.ts'
import type { SessionSecrets } from '../egress/session-secrets.ts'
import { replayStore } from '../evaluations/replay-store.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { serveModels } from '../gateway/routes.ts'
import type { AgentMcp } from '../mcp/agents/agent-mcp.ts'
import type { SessionMemories } from '../memories/session-memories.ts'
import type { SessionStores } from '../memory-stores/session-stores.ts'
import type { Keyring } from '../platform/encryption.ts'
import type { Part } from '../platform/lifecycle.ts'
import type { Log } from '../platform/log.ts'
import type { Outbound } from '../platform/outbound.ts'
import type { ResultSchemas } from '../platform/result-schema/result-schemas.ts'
import { a2aKind } from '../runtimes/a2a/kind.ts'
import { acpKind } from '../runtimes/acp/kind.ts'
import { builtinRuntime } from '../runtimes/builtin/runtime.ts'
import { cursorKind } from '../runtimes/cursor/kind.ts'
import type { ServeRequest } from '../runtimes/local/gateway-socket.ts'
import { createLocalPrograms } from '../runtimes/local/programs.ts'
import { managedAgentsKind } from '../runtimes/managed-agents/kind.ts'
import { createNetworkRedaction } from '../runtimes/network-secrets.ts'
import { opencodeKind } from '../runtimes/opencode/kind.ts'
import { createRuntimeChanges } from '../runtimes/registry/changes.ts'
import { createExternalRuntimes } from '../runtimes/registry/external-runtimes.ts'
import { createHealthChecks } from '../runtimes/registry/health-checks.ts'
import { createRuntimeKeyEncryption } from '../runtimes/registry/key-encryption.ts'
import { createProbes } from '../runtimes/registry/probes.ts'
import { createRegistry } from '../runtimes/registry/registry.ts'
import { serveRuntimes } from '../runtimes/registry/routes.ts'
import { runtimeStore } from '../runtimes/registry/store.ts'
import type { Cloning } from '../runtimes/repositories/with-repository.ts'
import type { Runtime, RuntimeKind } from '../runtimes/runtime.ts'
import { withSetup } from '../runtimes/with-setup.ts'
import { withSkillFiles } from '../runtimes/with-skill-files.ts'
import { createSandboxCheck } from '../sandboxes/check-sandbox.ts'
import type { Sandboxes } from '../sandboxes/sandboxes.ts'
import { createSandboxMark, type SandboxMark } from '../sessions/sandbox-mark.ts'
import { sessionStore } from '../sessions/session-store.ts'
import { createAttachedFolders } from '../skills/versions/skill-folders.ts'
import { skillVersionStore } from '../skills/versions/version-store.ts'
import { createWeb } from '../tools/web/web.ts'

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
  readonly sandboxes: Sandboxes
  /** Adds repositories to runtimes. */
  readonly cloning: (sandboxes: Sandboxes, markSandboxRunning: SandboxMark) => Cloning
  /** Secrets of `config.network`. */
  readonly sessionSecrets: SessionSecrets
  readonly memories: SessionMemories
  /** Memory stores of sessions. */
  readonly memoryStores: SessionStores
  /** Tools of MCP servers. */
  readonly agentMcp: AgentMcp
  readonly resultSchemas: ResultSchemas
  /** Address of the service for clients. The default is known once the server listens. */
  readonly publicUrl: () => string
  /** Serves requests of programs that run on this machine. */
  readonly serveProgram: ServeRequest
}

/** Runtimes of agents. */
export function composeRuntimes(needs: Needs) {
  const {
    config,
    sandboxes,
    workspacesDir,
    log,
    keyring,
    pool,
    db,
    audit,
    gateway,
    outbound,
    guard,
    configured,
    memories,
  } = needs

  // local programs
  const markSandboxRunning = createSandboxMark({ store: sessionStore(pool), folderId: needs.folderId, log })
  const programs = createLocalPrograms({ sandboxes, log, serve: needs.serveProgram })

  const cloning = needs.cloning(sandboxes, markSandboxRunning)
  const redaction = createNetworkRedaction(needs.sessionSecrets)
  const attachedFolders = createAttachedFolders(skillVersionStore(pool))
  const withSkills = (runtime: Runtime): Runtime =>
    withSkillFiles(runtime, {
      foldersOf: (session, principal) => attachedFolders(session, [session.owner_id, principal ?? '']),
      filesOf: async session => (await sandboxes.open(session.id, session)).files,
    })
  // The set-up runs before the clone, which needs the image of the agent, and the clone before other files are written.
  const prepared = (runtime: Runtime): Runtime => (runtime.workspace ? withSetup(runtime, sandboxes) : runtime)
  const inSandbox = (kind: RuntimeKind): RuntimeKind => {
    const cloned = cloning.kind({ ...kind, connect: endpoint => withSkills(kind.connect(endpoint)) })
    return redaction.kind({ ...cloned, connect: endpoint => prepared(cloned.connect(endpoint)) })
  }
  const web = createWeb({ guard, searchSettings: needs.webSearch })

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
    memoryStores: needs.memoryStores,
    mcp: needs.agentMcp,
    frontEnds: createFrontEnds({ pool, store: threadStore(pool) }),
    resultSchemas: needs.resultSchemas,
    recordingOf: replayStore(pool).recordingOf,
    log,
  })
  const builtin = redaction.runtime(prepared(cloning.runtime(withSkills(ownRuntime))))
  const runtimeKinds: readonly RuntimeKind[] = [
    inSandbox(acpKind({ programs, sandboxes, markSandboxRunning, memories, mcp: needs.agentMcp, log })),
    cursorKind({ outbound, memories: memories.block }),
    managedAgentsKind({ outbound, memories: memories.block }),
    a2aKind({ outbound, isListed: url => guard().lists(url), memories: memories.block }),
    inSandbox(
      opencodeKind({
        outbound,
        memories,
        log,
        local: { programs, sandboxes, markSandboxRunning, mcp: needs.agentMcp },
      }),
    ),
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
    canClone: sandboxes.hasNetwork,
    networkCheck: createNetworkCheck({ allowUnrestricted: config.limits.allowUnrestrictedEgress ?? false, sandboxes }),
    sandboxCheck: createSandboxCheck(sandboxes),
  })
  const changes = createRuntimeChanges({ store, encryption, configured, guard, audit })
  const probes = createProbes({ ownId: builtin.id, kinds, externals, store, nowMs: () => performance.now() })
  const healthChecks = createHealthChecks({ externals, probes, store, log })

  const parts: readonly Part[] = [
    { name: 'runtimes', stop: registry.close },
    { name: 'runtime health checks', isSessionWork: true, start: healthChecks.start, stop: healthChecks.stop },
  ]

  return {
    registry,
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
