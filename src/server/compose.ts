import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { FastifyInstance } from 'fastify'
import { createAgents } from './agents/agents.ts'
import { serveAgents } from './agents/routes.ts'
import { agentStore } from './agents/store.ts'
import { createAudit } from './audit/audit.ts'
import { serveAudit } from './audit/routes.ts'
import { secretMarker, withoutSecrets } from './audit/secret-fields.ts'
import { auditStore } from './audit/store.ts'
import { createBudgets } from './budgets/budgets.ts'
import { reservationStore } from './budgets/reservation-store.ts'
import { serveBudgets } from './budgets/routes.ts'
import { createBudgetSettings } from './budgets/settings.ts'
import { budgetChannel, budgetStore } from './budgets/store.ts'
import type { Config } from './config/config.ts'
import { asUnavailable, createKysely, createPool } from './db/connect.ts'
import { createNotifications } from './db/notifications.ts'
import { createRowSealer } from './db/sealed-rows.ts'
import { createGateway } from './gateway/gateway.ts'
import { serveGemini } from './gateway/ingress/gemini/routes.ts'
import { serveOpenAi } from './gateway/ingress/routes.ts'
import { createLanes } from './gateway/lanes.ts'
import { serveMessages, serveModels } from './gateway/routes.ts'
import { createAuthorize } from './gateway/upstream/authorize.ts'
import { createCredentialCheck } from './gateway/upstream/check-credential.ts'
import { createGoogleTokens } from './gateway/upstream/google-token.ts'
import { createPools } from './gateway/upstream/pools.ts'
import { createAuthenticate } from './http/auth.ts'
import { createCloseServer } from './http/close-server.ts'
import { serveDocs } from './http/docs.ts'
import { createLentCallers } from './http/lent-callers.ts'
import { createLoginLimiter } from './http/login-limiter.ts'
import { createServer } from './http/server.ts'
import { createKeys } from './keys/keys.ts'
import { createKeyLookup } from './keys/lookup.ts'
import { serveKeys } from './keys/routes.ts'
import { keyStore } from './keys/store.ts'
import { agentTimesStore } from './managed-agents/agent-times-store.ts'
import { createManagedAgents } from './managed-agents/agents.ts'
import { environmentStore } from './managed-agents/environment-store.ts'
import { createEnvironments } from './managed-agents/environments.ts'
import { serveDialectSessions, serveEnvironments, serveManagedAgents } from './managed-agents/routes.ts'
import { sessionDetailsStore } from './managed-agents/session-details-store.ts'
import { createDialectSessions } from './managed-agents/sessions.ts'
import { createMemories } from './memories/memories.ts'
import { serveMemories, serveMemoryMcp } from './memories/routes.ts'
import { createSessionMemories } from './memories/session-memories.ts'
import { sessionMemoryStore } from './memories/session-store.ts'
import { memoryStore } from './memories/store.ts'
import { credentialStore } from './model-settings/credential-store.ts'
import { deploymentStore } from './model-settings/deployment-store.ts'
import { createModelSettings } from './model-settings/model-settings.ts'
import { createModelsInForce } from './model-settings/models-in-force.ts'
import { createProviders } from './model-settings/providers.ts'
import { serveModelSettings, serveProviders } from './model-settings/routes.ts'
import { createSettingsSeals } from './model-settings/stored-settings.ts'
import { changeChannel, settingsVersion } from './model-settings/version-store.ts'
import { feedStore } from './opencode/feed-store.ts'
import { serveOpencode } from './opencode/routes.ts'
import { SessionFeed } from './opencode/session-feed.ts'
import { AppError } from './platform/errors.ts'
import type { Log } from './platform/log.ts'
import { watchLoopDelay } from './platform/loop-delay.ts'
import { createOutbound } from './platform/outbound.ts'
import { createSealer, type Keyring } from './platform/seal.ts'
import { acpKind } from './runtimes/acp/kind.ts'
import { builtinRuntime } from './runtimes/builtin/runtime.ts'
import { cursorKind } from './runtimes/cursor/kind.ts'
import { createLocalPrograms } from './runtimes/local/programs.ts'
import { managedAgentsKind } from './runtimes/managed-agents/kind.ts'
import { opencodeKind } from './runtimes/opencode/kind.ts'
import { createRuntimeChanges } from './runtimes/registry/changes.ts'
import { createKnownRuntimes } from './runtimes/registry/known-runtimes.ts'
import { createProbes } from './runtimes/registry/probes.ts'
import { createRegistry } from './runtimes/registry/registry.ts'
import { serveRuntimes } from './runtimes/registry/routes.ts'
import { createRuntimeSeals } from './runtimes/registry/seals.ts'
import { runtimeStore } from './runtimes/registry/store.ts'
import type { RuntimeKind } from './runtimes/runtime.ts'
import { createSandboxes } from './sandboxes/sandboxes.ts'
import { serveSchedules } from './schedules/routes.ts'
import { createSchedules } from './schedules/schedules.ts'
import { scheduleStore } from './schedules/store.ts'
import { createTicker } from './schedules/ticker.ts'
import { createReseal } from './secrets/reseal.ts'
import { loadServiceSecret } from './secrets/service-secret.ts'
import { secretStore } from './secrets/store.ts'
import { withOverrides } from './sessions/agent-overrides.ts'
import { serveApprovals } from './sessions/approval-routes.ts'
import { approvalStore } from './sessions/approval-store.ts'
import { createApprovals } from './sessions/approvals.ts'
import { createDisposal } from './sessions/disposal.ts'
import { disposalStore } from './sessions/disposal-store.ts'
import { createEventLog } from './sessions/event-log.ts'
import { serveEvents } from './sessions/event-routes.ts'
import { eventStore } from './sessions/event-store.ts'
import { leaseStore } from './sessions/lease-store.ts'
import { Leases } from './sessions/leases.ts'
import { LiveEvents } from './sessions/live-events.ts'
import { opencodeSession } from './sessions/opencode-session.ts'
import { pauseStore } from './sessions/pause-store.ts'
import { createPausedSessions } from './sessions/paused-sessions.ts'
import { createPromptQueue } from './sessions/prompt-queue.ts'
import { promptStore } from './sessions/prompt-store.ts'
import { createRedeemTicket } from './sessions/redeem-ticket.ts'
import { serveSessions } from './sessions/routes.ts'
import { Runner } from './sessions/runner.ts'
import { createSandboxMark } from './sessions/sandbox-mark.ts'
import { sessionStore, toSession } from './sessions/session-store.ts'
import { createSessions } from './sessions/sessions.ts'
import { ticketStore } from './sessions/ticket-store.ts'
import { createWaitForPrompt } from './sessions/wait-for-prompt.ts'
import { createWakeUps } from './sessions/wake-ups.ts'
import { createAttachments } from './skills/attachments.ts'
import { attach, carriedIds, detachAll } from './skills/blocks.ts'
import { serveSkills } from './skills/routes.ts'
import { createSkills } from './skills/skills.ts'
import { skillStore } from './skills/store.ts'
import { createReadiness } from './system/readiness.ts'
import { serveSystem } from './system/routes.ts'
import { reportStore } from './usage/report-store.ts'
import { serveUsage } from './usage/routes.ts'
import { usageStore } from './usage/store.ts'
import { createUsage } from './usage/usage.ts'
import { serveVault } from './vault/routes.ts'
import { vaultStore } from './vault/store.ts'
import { createVault } from './vault/vault.ts'
import { createDelivery } from './webhook-endpoints/delivery.ts'
import { deliveryStore as endpointDeliveryStore } from './webhook-endpoints/delivery-store.ts'
import { endpointStore } from './webhook-endpoints/endpoint-store.ts'
import { createEndpoints } from './webhook-endpoints/endpoints.ts'
import { createDispatch } from './webhook-endpoints/message.ts'
import { serveWebhookEndpoints } from './webhook-endpoints/routes.ts'
import { createSend } from './webhook-endpoints/send.ts'
import { createAdmission } from './webhooks/admission.ts'
import { createDeliver } from './webhooks/delivering.ts'
import { serveWebhooks } from './webhooks/routes.ts'
import { deliveryStore } from './webhooks/store.ts'
import { createWebhooks } from './webhooks/webhooks.ts'

/** Sessions give way long before calls are refused. */
const pressingDelayMs = 10

interface Inputs {
  readonly config: Config
  readonly log: Log
  readonly databaseUrl: string
  readonly keyring: Keyring
}

/** A server that is wired but not listening. */
export interface Composed {
  readonly app: FastifyInstance
  /** What runs the tools of sessions, for the banner. */
  readonly sandboxDriver: string
  readonly models: readonly string[]
  /** Starts the work in the background: wake-ups, leases, sweeps. */
  start(): Promise<void>
  /** Takes over what can change while it runs: models, router, limits of the gateway, addresses that may be called. */
  reload(config: Config): void
  /** Says "not ready" to load balancers while everything goes on. */
  leave(): void
  /** Ends streams, hands sessions over, finishes requests; `graceMs` bounds all of it. */
  stop(graceMs: number): Promise<void>
}

const isUnavailable = (error: unknown): boolean => {
  const translated = asUnavailable(error)
  return translated instanceof AppError && translated.code === 'unavailable'
}

/** Builds every store, rule set and route by name. The only wiring of the server. */
export async function compose({ config, log, databaseUrl, keyring }: Inputs): Promise<Composed> {
  // database
  const onLost = (error: Error) => log.warn({ err: error }, 'a database connection was lost')
  const pool = createPool({ url: databaseUrl, max: 20, onLost })
  // Calls under one budget wait for one another, and nothing else shall wait for them.
  const callPool = createPool({ url: databaseUrl, max: 8, onLost })
  const db = createKysely(pool)
  const notifications = createNotifications({ connectionString: databaseUrl }, log)
  const owner = randomUUID()
  const shutdown = new AbortController()

  // audit
  const auditRows = auditStore(db)
  const audit = createAudit(auditRows)

  // vault
  const vault = createVault({ store: vaultStore(pool), sealer: createRowSealer(keyring, 'vault_entries'), audit })

  // secrets
  const reseal = createReseal({ store: secretStore(pool), keyring, log })

  // ledger and budgets
  const usage = createUsage({ store: usageStore(callPool), log, isPassing: isUnavailable })
  const budgetRows = budgetStore(pool)
  const { reservationMs } = config.limits
  const budgets = createBudgets({
    store: budgetRows,
    reservations: reservationStore(callPool, { lifetimeMs: reservationMs }),
    usage,
    notifications,
    log,
    lifetimeMs: reservationMs,
    nowMs: () => performance.now(),
  })

  // keys
  const keyRows = keyStore(pool)
  const pepper = await loadServiceSecret(pool, keyring, 'pepper of key hashes')
  const keyLookup = createKeyLookup({ store: keyRows, pepper, notifications, log, nowMs: () => performance.now() })
  const keys = createKeys({
    pool,
    store: keyRows,
    lookup: keyLookup,
    pepper,
    sealer: createSealer(keyring, 'idempotency'),
    budgets: budgetRows,
    audit,
  })

  // gateway
  const pools = createPools(createOutbound({ allow: config.outboundAllow }))
  const laneFor = createLanes({
    pools,
    keyring,
    onRepair: (what, deployment) => log.warn({ what, deployment }, 'an answer of an upstream was mended'),
  })
  const loop = watchLoopDelay()
  const gateway = createGateway({
    loopDelayMs: () => loop.meanMs,
    config,
    pools,
    laneFor,
    usage,
    budgets,
    log,
    hints: notifications,
  })
  let current = config
  const guard = () => createOutbound({ allow: current.outboundAllow })
  const defaultModel = () => gateway.models()[0]?.id ?? 'demo'

  // models and credentials that the API has stored
  const seals = createSettingsSeals(keyring)
  const credentialRows = credentialStore(db)
  const deploymentRows = deploymentStore(db)
  const modelsInForce = createModelsInForce({
    config,
    read: async () => ({
      credentials: (await credentialRows.all()).map(seals.openCredential),
      models: (await deploymentRows.all()).map(seals.openModel),
    }),
    version: () => settingsVersion(pool),
    notifications,
    channel: changeChannel,
    apply: deployments => gateway.reload({ ...current, deployments }),
    log,
  })
  const modelProviders = createProviders({
    store: credentialRows,
    seals,
    inForce: modelsInForce,
    audit,
    checkCredential: createCredentialCheck({
      outbound: pools,
      authorize: createAuthorize({ googleTokens: createGoogleTokens({ outbound: pools }) }),
    }),
  })
  const modelSettings = createModelSettings({ store: deploymentRows, seals, inForce: modelsInForce, audit })

  // memories
  const memoryRows = memoryStore(pool)
  const sessionMemories = createSessionMemories({ store: memoryRows, given: sessionMemoryStore(pool), audit })
  const memories = createMemories({ store: memoryRows, sessionMemories, audit })

  // runtimes
  const workspacesDir = join(config.dataDir, 'workspaces')
  const sandboxes = await createSandboxes({ workspacesDir, log })
  const sessionRows = sessionStore(pool)
  const markSandboxRunning = createSandboxMark({ store: sessionRows, log })
  const builtin = builtinRuntime({ gateway, sandboxes, markSandboxRunning, memories: sessionMemories, log })
  const blockOf = sessionMemories.block
  const lentCallers = createLentCallers()
  const programs = createLocalPrograms({
    sandboxes,
    log,
    serve: (request, response, caller) => {
      lentCallers.lend(request, caller)
      app.routing(request, response)
    },
  })
  const runtimeKinds: readonly RuntimeKind[] = [
    acpKind({ programs, sandboxes, markSandboxRunning, memories: sessionMemories, log }),
    cursorKind({ outbound: pools, memories: blockOf }),
    managedAgentsKind({ outbound: pools, memories: blockOf }),
    opencodeKind({
      outbound: pools,
      memories: sessionMemories,
      log,
      local: { programs, sandboxes, markSandboxRunning },
    }),
  ]
  const kinds = new Map(runtimeKinds.map(kind => [kind.spec, kind]))
  const runtimeRows = runtimeStore(db)
  const runtimeSeals = createRuntimeSeals(keyring)
  const configured = () => current.runtimeHarnesses
  const known = createKnownRuntimes({
    store: runtimeRows,
    seals: runtimeSeals,
    speaks: spec => kinds.has(spec),
    configured,
    guard,
  })
  const runtimes = createRegistry({ builtin, kinds, known, store: runtimeRows })
  const runtimeChanges = createRuntimeChanges({ store: runtimeRows, seals: runtimeSeals, configured, guard, audit })
  const runtimeProbes = createProbes({
    ownId: builtin.id,
    kinds,
    known,
    store: runtimeRows,
    nowMs: () => performance.now(),
  })

  // agents
  const agentRows = agentStore(db)
  const agents = createAgents({
    store: agentRows,
    defaults: () => ({ model: defaultModel(), runtime: builtin.id, harness: builtin.id }),
    isRuntime: async id => (await runtimes.find(id)) !== undefined,
    audit,
    secrets: { mask: withoutSecrets, marker: secretMarker },
  })

  // skills
  const skills = createSkills({ store: skillStore(db), audit })
  const attachments = createAttachments({ skills, agents })

  // sessions
  const prompts = promptStore(pool)
  const pauses = pauseStore(pool)
  const events = eventStore(pool)
  const approvalRows = approvalStore(pool)
  const leaseRows = leaseStore(pool)
  const live = new LiveEvents({ store: events, notifications, owner, log })
  const eventLog = createEventLog({ pool, store: events, live })
  const leases = new Leases({ store: leaseRows, prompts, notifications, owner, log })
  const runsSessions = config.role !== 'api'
  const wakeUps = createWakeUps(notifications)
  const runner = new Runner({
    sessions: sessionRows,
    prompts,
    pauses,
    approvals: approvalRows,
    events,
    eventLog,
    live,
    keys,
    log,
    agents: agentRows,
    runtimes,
    leases,
    leaseStore: leaseRows,
    maxSessions: config.limits.maxSessions,
    isPressed: () => pool.waitingCount > 0 || loop.meanMs > pressingDelayMs,
  })
  if (runsSessions) wakeUps.listen(id => runner.wake(id), runner.lookAround)
  const disposal = createDisposal({
    store: disposalStore(pool),
    runtimes,
    settled: id => runner.settled(id),
    log,
  })
  const pausedSessions = createPausedSessions({
    pool,
    pauses,
    sessions: sessionRows,
    wakeUps,
    notifications,
    channel: budgetChannel,
    log,
  })
  const approvals = createApprovals({ pool, store: approvalRows, sessions: sessionRows, eventLog })
  const sessions = createSessions({
    pool,
    store: sessionRows,
    prompts,
    eventLog,
    agents: agentRows,
    runtimes,
    budgets: budgetRows,
    approvals,
    queue: createPromptQueue({ store: sessionRows, prompts, pauses, eventLog, wakeUps }),
    defaultModel,
    dispose: disposal.begin,
  })

  // the Managed Agents dialect
  const blocks = { attach, detachAll, carriedIds }
  const managedAgents = createManagedAgents({
    agents,
    times: agentTimesStore(pool),
    skillsAmong: skills.among,
    blocks,
  })
  const environments = createEnvironments({ pool, store: environmentStore(pool), audit })
  const dialectSessions = createDialectSessions({
    pool,
    store: sessionDetailsStore(pool),
    sessions,
    rename: sessionRows.rename,
    toSession,
    withOverrides,
    agents: agentRows,
    managedAgents,
    environments,
    budgets: budgetRows,
    blocks,
  })

  // opencode's clients
  const feedRows = feedStore(pool)
  const feed = new SessionFeed({ store: feedRows, notifications, log })

  // webhooks
  const logins = createLoginLimiter(() => performance.now())
  const admission = createAdmission({
    agents: agentRows,
    vault,
    masterKey: config.masterKey,
    logins,
    log,
    nowMs: () => Date.now(),
  })
  const deliveries = deliveryStore({ pool, db })
  const payloadSealer = createSealer(keyring, 'webhook payload')
  const webhooks = createWebhooks({
    store: deliveries,
    agents: agentRows,
    deliver: createDeliver({ store: deliveries, sessions, sealer: payloadSealer, log }),
    sealer: payloadSealer,
    log,
  })

  // schedules
  const scheduleRows = scheduleStore(pool)
  const schedules = createSchedules({ pool, store: scheduleRows, agents: agentRows, sessions, audit })
  const ticker = createTicker({ pool, store: scheduleRows, sessions, log })

  // webhook endpoints
  const endpointRows = endpointStore(pool)
  const deliveryRows = endpointDeliveryStore(pool)
  const endpointSealer = createRowSealer(keyring, 'webhook_endpoint_secrets')
  const dispatch = createDispatch({ store: endpointRows, sealer: endpointSealer, send: createSend(pools), log })
  const endpoints = createEndpoints({
    store: endpointRows,
    deliveries: deliveryRows,
    agents: agentRows,
    dispatch,
    sealer: endpointSealer,
    answerSealer: createSealer(keyring, 'idempotency'),
    outbound: guard,
    audit,
  })
  const delivery = createDelivery({
    store: deliveryRows,
    endpoints: endpointRows,
    dispatch,
    notifications,
    audit,
    log,
  })

  // http
  const readiness = createReadiness(pool)
  const tickets = ticketStore(pool, { pepper })
  const authenticate = createAuthenticate({
    masterKey: config.masterKey,
    insecureNoAuth: config.insecureNoAuth,
    logins,
    findKey: keys.find,
    redeemTicket: createRedeemTicket({ tickets, keys }),
    lent: lentCallers.of,
  })
  const app = createServer({ authenticate, log, translateError: asUnavailable })
  const closeServer = createCloseServer(app)
  const providers = () => [...new Set(modelsInForce.now.deployments.map(({ provider }) => provider))]
  serveSystem(app, { readiness, providers, gateway, runtimes })
  serveDocs(app)
  serveModels(app, {
    gateway,
    modelsOf: async runtime => ((await runtimes.find(runtime)) ? runtimeProbes.models(runtime) : undefined),
  })
  serveMessages(app, { gateway })
  serveOpenAi(app, { gateway })
  serveGemini(app, { gateway })
  serveAgents(app, { agents })
  serveSkills(app, { skills, attachments })
  serveMemories(app, { memories })
  serveMemoryMcp(app, { memories, log })
  serveAudit(app, { log: auditRows })
  serveUsage(app, { ledger: reportStore(db) })
  serveVault(app, { vault })
  serveRuntimes(app, {
    registry: runtimes,
    changes: runtimeChanges,
    probes: runtimeProbes,
    ownModels: ({ key }) => gateway.models(key),
  })
  serveKeys(app, { keys })
  serveBudgets(app, { settings: createBudgetSettings({ pool, store: budgetRows, audit }) })
  serveProviders(app, { providers: modelProviders })
  serveModelSettings(app, { models: modelSettings })
  serveSessions(app, {
    sessions,
    events,
    modelName: ({ providerID, modelID }) => {
      const full = `${providerID}/${modelID}`
      return providerID !== undefined && gateway.find(full) ? full : modelID
    },
    waitForPrompt: createWaitForPrompt({ prompts, pauses, live }),
    workspaceOf: sessionId => join(workspacesDir, sessionId),
  })
  serveApprovals(app, { approvals })
  serveOpencode(app, {
    bus: { feed, store: feedRows, events, live },
    sessions,
    approvals,
    agents,
    runtimes,
    gateway,
    keys,
    toRecord: row => opencodeSession(toSession(row)),
    shutdown: shutdown.signal,
  })
  serveManagedAgents(app, { agents: managedAgents })
  serveEnvironments(app, { environments })
  serveDialectSessions(app, { sessions: dialectSessions })
  serveWebhooks(app, { admission, webhooks })
  serveSchedules(app, { schedules })
  serveWebhookEndpoints(app, { endpoints })
  serveEvents(app, { sessions, store: events, live, tickets, keys, shutdown: shutdown.signal })

  return {
    app,
    sandboxDriver: sandboxes.driver,
    get models() {
      return gateway.models().map(({ id }) => id)
    },
    async start() {
      await notifications.start(owner)
      await modelsInForce.start()
      reseal.start()
      budgets.start()
      webhooks.startForgetting()
      if (!runsSessions) return
      await runner.start()
      pausedSessions.start()
      disposal.start()
      ticker.start()
      delivery.start()
    },
    reload(next) {
      const isAllowKept = isDeepStrictEqual(next.outboundAllow, current.outboundAllow)
      current = next
      gateway.reload(
        { ...next, deployments: modelsInForce.take(next) },
        isAllowKept ? undefined : createOutbound({ allow: next.outboundAllow }),
      )
    },
    leave: () => readiness.leave(),
    async stop(graceMs) {
      readiness.leave()
      shutdown.abort()
      await Promise.all([closeServer(graceMs), runner.drain(graceMs), ticker.stop(), delivery.stop()])
      await pausedSessions.stop()
      await disposal.stop()
      await leases.stop()
      await feed.stop()
      await live.stop()
      await reseal.stop()
      await webhooks.stop()
      await modelsInForce.stop()
      await runtimes.close()
      await sandboxes.stopAll()
      await gateway.close()
      await budgets.stop()
      await usage.stop()
      await keys.stop()
      await notifications.stop()
      loop.stop()
      await Promise.all([pool.end(), callPool.end()])
    },
  }
}
