import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { composeA2a } from './compose/a2a.ts'
import { composeAccess } from './compose/access.ts'
import { composeAgUi } from './compose/ag-ui.ts'
import { composeAgents } from './compose/agents.ts'
import { composeBatches } from './compose/batches.ts'
import { composeConsole } from './compose/console.ts'
import { composeContexts } from './compose/contexts.ts'
import { composeControls } from './compose/controls.ts'
import { composeDataFolder } from './compose/data-folder.ts'
import { composeDatabase } from './compose/database.ts'
import { composeDialects } from './compose/dialects.ts'
import { composeEvaluations } from './compose/evaluations.ts'
import { composeFiles } from './compose/files.ts'
import { composeGateway } from './compose/gateway.ts'
import { composeHttp } from './compose/http.ts'
import { composeLedger } from './compose/ledger.ts'
import { composeLogSinks } from './compose/log-sinks.ts'
import { composeManagedVaults } from './compose/managed-vaults.ts'
import { composeMcp } from './compose/mcp.ts'
import { composeMemories } from './compose/memories.ts'
import { composeMemoryStores } from './compose/memory-stores.ts'
import { composeOwnMcp } from './compose/own-mcp.ts'
import { composeRepositories } from './compose/repositories.ts'
import { composeRuntimes } from './compose/runtimes.ts'
import { composeSandboxes } from './compose/sandboxes.ts'
import { composeSessions } from './compose/sessions.ts'
import { composeTelemetry } from './compose/telemetry.ts'
import { composeWebhooksAndSchedules } from './compose/webhooks-and-schedules.ts'
import { composeWorkspaces } from './compose/workspaces.ts'
import type { Config } from './config/config.ts'
import { ownUrl } from './http/own-url.ts'
import type { Keyring } from './platform/encryption.ts'
import { createLifecycle, type Part } from './platform/lifecycle.ts'
import type { Log } from './platform/log.ts'
import type { RequestLog } from './platform/request-log.ts'
import { createResultSchemas } from './platform/result-schema/result-schemas.ts'
import { createRetention } from './retention/retention.ts'
import { retentionStore } from './retention/store.ts'
import { folderIdOf } from './system/data-folder-marker.ts'
import { observedSweep } from './telemetry/observed.ts'
import type { Otlp } from './telemetry/otlp/otlp.ts'

interface Inputs {
  readonly config: Config
  readonly log: Log
  readonly requestLog: RequestLog
  readonly databaseUrl: string
  readonly keyring: Keyring
  /** Export of traces and logs; absent without a collector. */
  readonly otlp?: Otlp | undefined
}

/** A composed server that does not listen yet. */
export interface Composed {
  /** Replica id of this process. */
  readonly id: string
  readonly app: FastifyInstance
  /** Driver that runs the tools of sessions, for the banner. */
  readonly sandboxDriver: string
  readonly models: readonly string[]
  /** Starts the background work: wake-ups, leases, sweeps. */
  start(): Promise<void>
  /** Applies the settings that can change at runtime: models, router, gateway limits, allowed outbound addresses. */
  reload(config: Config): void
  /** True when other replicas than this one and its siblings use the same database, so a load balancer has a choice. */
  hasPeers(siblings: readonly string[]): Promise<boolean>
  /** Makes readiness checks fail; requests are still served. */
  leave(): void
  /** Ends streams, hands sessions over and finishes requests, within `graceMs`. */
  stop(graceMs: number): Promise<void>
}

/**
 * Builds the server section by section; each uses the sections before it. The order of building is the order of start,
 * and the reverse is the order of stop.
 */
export async function compose({ config, log, requestLog, databaseUrl, keyring, otlp }: Inputs): Promise<Composed> {
  const owner = randomUUID()
  const publicUrl = () => config.publicUrl ?? ownUrl(app.server, config)
  const leaving = new AbortController()
  const shutdown = leaving.signal
  const runsSessions = config.role !== 'api'

  const database = composeDatabase({ log, databaseUrl, owner })
  const { pool, callPool, db, notifications, audit } = database
  /** Dependencies of most parts. */
  const base = { config, log, keyring, pool, db, notifications, audit, resultSchemas: createResultSchemas() }
  const workspacesDir = join(config.dataDir, 'workspaces')
  const folderId = await folderIdOf(workspacesDir, log)

  const monitoring = await composeTelemetry({
    ...base,
    otlp,
    callPool,
    aliasOf: id => calls.gateway.deployment(id)?.alias,
    readings: () => ({
      modelStreams: () => gateway.streams,
      eventStreams: () => engine.slots.total,
      sessionsRunning: engine.activeCount,
      deployments: gateway.allDeployments,
      loopDelayMs: () => loop.meanMs,
    }),
  })
  const { telemetry, traced, observeContent } = monitoring
  const ledger = composeLedger({ ...base, callPool, telemetry })
  const { usage, budgets, budgetRows, freezes, toolCalls } = ledger
  const access = await composeAccess({
    ...base,
    budgetRows,
    reloaded: () => calls.reloaded(),
    network: () => ({ outbound, guard, publicUrl }),
  })
  const { keys, tickets, logins, addressOf, vault, authenticate } = access
  const calls = composeGateway({
    ...base,
    usage,
    budgets,
    freezes,
    telemetry,
    traced,
    observeContent,
    files: () => callerFiles.files,
    keys,
    owner,
    slots: () => engine.slots,
    shutdown,
  })
  const { gateway, loop, files, outbound, guard, defaultModel } = calls

  const logSinks = composeLogSinks({ ...base, vault, guard })
  const memories = composeMemories(base)
  const memoryStores = composeMemoryStores(base)
  const repositories = composeRepositories({
    ...base,
    guard,
    gitHosts: calls.gitHosts,
    vault,
    gitCacheDir: join(config.dataDir, 'git-cache'),
    hasNetwork: () => sandboxes.hasNetwork,
  })
  const { sandboxes, sessionSecrets, ...isolation } = await composeSandboxes({
    ...base,
    workspacesDir,
    innerHosts: [repositories.host],
    vault,
  })
  const managedVaults = composeManagedVaults({ ...base, vault, probe: () => mcp.probeCredential })
  const mcp = composeMcp({
    ...base,
    vault,
    credentialFor: managedVaults.vaults.credentialFor,
    sandboxes,
    keys,
    slots: () => engine.slots,
    outbound,
    guard,
    configured: calls.configuredMcpServers,
    publicUrl,
    shutdown,
  })
  const execution = composeRuntimes({
    ...base,
    sandboxes,
    sessionSecrets,
    workspacesDir,
    folderId,
    callPool,
    gateway,
    outbound,
    guard,
    configured: calls.configuredRuntimes,
    webSearch: calls.webSearch,
    cloning: repositories.cloning,
    memories: memories.sessionMemories,
    memoryStores: memoryStores.sessionStores,
    agentMcp: mcp.agentMcp,
    publicUrl,
    serveProgram(request, response, caller) {
      access.assignCaller(request, caller)
      app.routing(request, response)
    },
  })
  const { registry: runtimes, workspaceOf } = execution
  const stored = composeWorkspaces({
    ...base,
    guard,
    workspacesDir,
    sandboxes,
    workspaceOf,
    callerFiles: () => callerFiles.files,
  })
  const callerFiles = composeFiles({ ...base, reloaded: calls.reloaded, blobs: stored.blobs })
  const dataFolder = composeDataFolder({ ...base, files, owner, sandboxes })
  const { readiness } = dataFolder
  const checkMcp = mcp.agentCheck(runtimes.callsMcpServers)
  const library = composeAgents({
    ...base,
    runtimes,
    defaultRuntime: execution.ownId,
    defaultModel,
    checkMcp,
    sessionSecrets,
    lastSessions: ids => engine.sessions.lastOf(ids),
  })
  const { agentRows } = library

  const engine = composeSessions({
    ...base,
    runsSessions,
    logins,
    owner,
    folderId,
    shutdown,
    loop,
    files,
    budgetRows,
    toolCalls,
    freezes,
    keys,
    tickets,
    gateway,
    defaultModel,
    runtimes,
    workspaceOf,
    workspaces: stored.workspaces,
    promptFiles: stored.promptFiles,
    sandboxes,
    makeRoom: dataFolder.makeRoom,
    agentRows,
    checkSupport: library.agents.checkRuntimeSupport,
    telemetry,
    traceOfToolCall: monitoring.traceOfToolCall,
  })
  const { sessions } = engine
  const sessionFiles = stored.composeFiles(engine)
  const dialects = composeDialects({
    ...base,
    shutdown,
    vaults: managedVaults.vaults,
    memoryStores: memoryStores.sessionStores,
    callerFiles: callerFiles.files,
    fileWrites: sessionFiles.writes,
    budgetRows,
    keys,
    gateway,
    runtimes,
    agents: library.agents,
    agentRows,
    skillsFor: library.skillsFor,
    sessions,
    runAs: access.runAs,
    approvals: engine.approvals,
    customToolCalls: engine.customToolCalls,
    events: engine.events,
    live: engine.live,
    slots: engine.slots,
    turns: engine.turns,
    archiveThread: engine.archiveThread,
    eventReading: engine.eventReading,
    sessionRows: engine.sessionRows,
  })
  const a2a = composeA2a({
    ...base,
    outbound,
    guard,
    shutdown,
    authenticate,
    keys,
    agents: library.agents,
    sessions,
    events: engine.events,
    live: engine.live,
    written: sessionFiles.written,
    slots: engine.slots,
    turns: engine.turns,
    publicUrl,
  })
  const agUi = composeAgUi({
    ...base,
    shutdown,
    keys,
    agents: library.agents,
    sessions,
    events: engine.events,
    live: engine.live,
    slots: engine.slots,
    turns: engine.turns,
    ownRuntime: execution.ownId,
  })
  const contexts = composeContexts({
    ...base,
    keys,
    agents: library.agents,
    agentRows,
    runtimes,
    memories: memories.sessionMemories,
    events: engine.events,
    nextPrompt: engine.nextPrompt,
  })
  const evaluations = composeEvaluations({
    ...base,
    agents: library.agents,
    agentRows,
    budgetRows,
    freezes,
    gateway,
    runAs: access.runAs,
    runtimes,
    sandboxes,
    sessions,
    sessionRows: engine.sessionRows,
    events: engine.events,
    promptFiles: stored.promptFiles,
    workspaces: stored.workspaces,
  })
  const batches = composeBatches({
    ...base,
    reloaded: calls.reloaded,
    owner,
    keys,
    gateway,
    gatewayOf: calls.gatewayOf,
    loop,
    openFiles: files,
    files: callerFiles.files,
    publicUrl,
    usage,
    budgets,
    providerBatches: calls.providerBatches,
  })
  const controls = composeControls({
    ...base,
    freezes,
    freezeRows: ledger.freezeRows,
    gateway,
    background: calls.background,
    cancelBatches: batches.cancelAll,
    keys,
    sessions,
    stopExperiments: evaluations.stop,
  })
  const triggers = composeWebhooksAndSchedules({
    ...base,
    vault,
    logins,
    addressOf,
    outbound,
    guard,
    agentRows,
    sessions,
    runAs: access.runAs,
    approvalLinks: engine.approvalLinks,
    events: engine.events,
    telemetry,
  })

  const retentionRows = retentionStore(base.pool)
  const retention = createRetention({
    settings: config.retention,
    store: { ...retentionRows, alone: observedSweep('retention', retentionRows.alone, telemetry) },
    sessions,
    removeFiles: sandboxes.remove,
    removeObject: stored.removeObject,
    log: base.log,
  })

  const ownMcp = composeOwnMcp({
    ...base,
    keys,
    slots: engine.slots,
    agents: library.agents,
    sessions,
    log: a2a.log,
    publicUrl,
    shutdown,
  })

  const http = composeHttp({
    ...base,
    reloaded: calls.reloaded,
    owner,
    sandboxDriver: sandboxes.driver,
    requestLog,
    readiness,
    files,
    authenticate,
    addressOf,
    isFromProgram: access.isFromProgram,
    gateway,
    providers: calls.providers,
    runtimes,
    mcpServers: mcp.servers,
  })
  const { app } = http
  const forConsole = composeConsole({ ...base, readiness, budgetSettings: ledger.budgetSettings })
  const sections = [
    database,
    monitoring,
    ledger,
    access,
    calls,
    logSinks,
    memories,
    memoryStores,
    execution,
    library,
    engine,
    callerFiles,
    sessionFiles,
    dialects,
    a2a,
    agUi,
    triggers,
    evaluations,
    controls,
    mcp,
    managedVaults,
    ownMcp,
    contexts,
    batches,
    forConsole,
  ]
  for (const { serve } of sections) serve(app)

  const parts: readonly Part[] = [
    ...database.parts,
    // Stops before the pools, which do not close while the database does not respond.
    { name: 'request log', stop: requestLog.flush },
    ...monitoring.parts,
    ...ledger.parts,
    ...access.parts,
    ...calls.parts,
    ...logSinks.parts,
    ...isolation.parts,
    ...mcp.parts,
    ...execution.parts,
    ...stored.parts,
    ...dataFolder.parts,
    ...engine.parts,
    ...dialects.parts,
    ...a2a.parts,
    ...triggers.parts,
    ...batches.parts,
    ...evaluations.parts,
    { name: 'retention', isSessionWork: true, start: retention.start, stop: retention.stop },
    ...http.parts,
  ]
  const lifecycle = createLifecycle({ parts, runsSessions, log })

  return {
    id: owner,
    app,
    sandboxDriver: sandboxes.driver,
    get models() {
      return gateway.models().map(({ id }) => id)
    },
    start: lifecycle.start,
    reload: calls.reload,
    hasPeers: siblings => notifications.hasPeers(siblings),
    leave: () => readiness.leave(),
    async stop(graceMs) {
      readiness.leave()
      leaving.abort()
      await lifecycle.stop(graceMs)
    },
  }
}
