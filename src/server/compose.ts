import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { composeAccess } from './compose/access.ts'
import { composeAgents } from './compose/agents.ts'
import { composeControls } from './compose/controls.ts'
import { composeDataFolder } from './compose/data-folder.ts'
import { composeDatabase } from './compose/database.ts'
import { composeDialects } from './compose/dialects.ts'
import { composeGateway } from './compose/gateway.ts'
import { composeHttp } from './compose/http.ts'
import { composeLedger } from './compose/ledger.ts'
import { composeMemories } from './compose/memories.ts'
import { composeRuntimes } from './compose/runtimes.ts'
import { composeSessions } from './compose/sessions.ts'
import { composeWebhooksAndSchedules } from './compose/webhooks-and-schedules.ts'
import { composeWorkspaces } from './compose/workspaces.ts'
import type { Config } from './config/config.ts'
import { ownUrl } from './http/own-url.ts'
import type { Keyring } from './platform/encryption.ts'
import type { Log } from './platform/log.ts'
import type { RequestLog } from './platform/request-log.ts'
import { createResultSchemas } from './platform/result-schema/result-schemas.ts'
import { createRetention } from './retention/retention.ts'
import { retentionStore } from './retention/store.ts'
import { folderIdOf } from './system/data-folder-marker.ts'

interface Inputs {
  readonly config: Config
  readonly log: Log
  readonly requestLog: RequestLog
  readonly databaseUrl: string
  readonly keyring: Keyring
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
 * Builds the server part by part; each part uses the parts before it. Only this file decides the order of start and
 * stop.
 */
export async function compose({ config, log, requestLog, databaseUrl, keyring }: Inputs): Promise<Composed> {
  const owner = randomUUID()
  const leaving = new AbortController()
  const shutdown = leaving.signal
  const runsSessions = config.role !== 'api'

  const database = composeDatabase({ log, databaseUrl })
  const { pool, callPool, db, notifications, audit } = database
  /** Dependencies of most parts. */
  const base = { config, log, keyring, pool, db, notifications, audit, resultSchemas: createResultSchemas() }
  const workspacesDir = join(config.dataDir, 'workspaces')
  const folderId = await folderIdOf(workspacesDir, log)

  const ledger = composeLedger({ ...base, callPool })
  const { usage, budgets, budgetRows, freezes } = ledger
  const access = await composeAccess({ ...base, budgetRows })
  const { reencryption, keys, tickets, logins, addressOf, vault, authenticate } = access
  const calls = composeGateway({ ...base, usage, budgets, freezes })
  const { gateway, modelsInForce, loop, files, outbound, guard, defaultModel } = calls

  const memories = composeMemories(base)
  const execution = await composeRuntimes({
    ...base,
    workspacesDir,
    folderId,
    callPool,
    gateway,
    outbound,
    guard,
    configured: calls.configuredRuntimes,
    memories: memories.sessionMemories,
    publicUrl: () => config.publicUrl ?? ownUrl(app.server, config),
    serveProgram(request, response, caller) {
      access.assignCaller(request, caller)
      app.routing(request, response)
    },
  })
  const { registry: runtimes, sandboxes, workspaceOf } = execution
  const stored = composeWorkspaces({ ...base, guard, workspacesDir, sandboxes, workspaceOf })
  const dataFolder = composeDataFolder({ ...base, files, owner, sandboxes })
  const { readiness, reserve } = dataFolder
  const library = composeAgents({ ...base, runtimes, defaultRuntime: execution.ownId, defaultModel })
  const { agentRows } = library

  const engine = composeSessions({
    ...base,
    runsSessions,
    owner,
    folderId,
    shutdown,
    loop,
    files,
    budgetRows,
    freezes,
    keys,
    tickets,
    gateway,
    defaultModel,
    runtimes,
    workspaceOf,
    workspaces: stored.workspaces,
    makeRoom: dataFolder.makeRoom,
    agentRows,
  })
  const { sessions, live, leases, runner, disposal, pausedSessions, frozenSessions } = engine
  const sessionFiles = stored.composeFiles(engine)
  const dialects = composeDialects({ ...base, shutdown, budgetRows, keys, gateway, runtimes, ...library, ...engine })
  const { feed } = dialects
  const controls = composeControls({ ...base, ...ledger, gateway, keys, sessions })
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
  })
  const { ticker, delivery } = triggers

  const retention = createRetention({
    settings: config.retention,
    store: retentionStore(base.pool),
    sessions,
    removeFiles: sandboxes.remove,
    removeObject: stored.removeObject,
    log: base.log,
  })

  const http = composeHttp({
    ...base,
    requestLog,
    readiness,
    files,
    authenticate,
    addressOf,
    isFromProgram: access.isFromProgram,
    gateway,
    providers: calls.providers,
    runtimes,
  })
  const { app } = http
  const parts = [
    database,
    ledger,
    access,
    calls,
    memories,
    execution,
    library,
    engine,
    sessionFiles,
    dialects,
    triggers,
    controls,
  ]
  for (const { serve } of parts) serve(app)

  return {
    id: owner,
    app,
    sandboxDriver: sandboxes.driver,
    get models() {
      return gateway.models().map(({ id }) => id)
    },
    async start() {
      await notifications.start(owner)
      await freezes.start()
      await modelsInForce.start()
      reencryption.start()
      budgets.start()
      reserve.start()
      if (!runsSessions) return
      await runner.start()
      pausedSessions.start()
      frozenSessions.start()
      disposal.start()
      stored.leftBehind.start()
      execution.healthChecks.start()
      ticker.start()
      delivery.start()
      retention.start()
    },
    reload: calls.reload,
    hasPeers: siblings => notifications.hasPeers(siblings),
    leave: () => readiness.leave(),
    async stop(graceMs) {
      readiness.leave()
      leaving.abort()
      await Promise.all([http.close(graceMs), runner.drain(graceMs), ticker.stop(), delivery.stop()])
      await pausedSessions.stop()
      await frozenSessions.stop()
      await disposal.stop()
      await stored.leftBehind.stop()
      await execution.healthChecks.stop()
      await leases.stop()
      await feed.stop()
      await live.stop()
      await reencryption.stop()
      await retention.stop()
      await modelsInForce.stop()
      await runtimes.close()
      await sandboxes.stopAll()
      await stored.close()
      await gateway.close()
      await freezes.stop()
      await budgets.stop()
      await usage.stop()
      await keys.stop()
      await notifications.stop()
      await reserve.stop()
      loop.stop()
      requestLog.flush()
      await Promise.all([pool.end(), callPool.end()])
    },
  }
}
