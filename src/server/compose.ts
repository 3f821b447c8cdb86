import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { FastifyInstance } from 'fastify'
import { createAgents } from './agents/agents.ts'
import { serveAgents } from './agents/routes.ts'
import { agentStore } from './agents/store.ts'
import type { Config } from './config/config.ts'
import { asUnavailable, createKysely, createPool } from './db/connect.ts'
import { createNotifications } from './db/notifications.ts'
import { createGateway } from './gateway/gateway.ts'
import { serveOpenAi } from './gateway/ingress/routes.ts'
import { createLanes } from './gateway/lanes.ts'
import { serveMessages, serveModels } from './gateway/routes.ts'
import { createPools } from './gateway/upstream/pools.ts'
import { createAuthenticate } from './http/auth.ts'
import { createCloseServer } from './http/close-server.ts'
import { serveDocs } from './http/docs.ts'
import { createLoginLimiter } from './http/login-limiter.ts'
import { createServer } from './http/server.ts'
import { loadEncryptionKey } from './platform/encryption-key.ts'
import { AppError } from './platform/errors.ts'
import type { Log } from './platform/log.ts'
import { createOutbound } from './platform/outbound.ts'
import { builtinRuntime } from './runtimes/builtin/runtime.ts'
import type { Runtime } from './runtimes/runtime.ts'
import { createSandboxes } from './sandboxes/sandboxes.ts'
import { createEventLog } from './sessions/event-log.ts'
import { serveEvents } from './sessions/event-routes.ts'
import { eventStore } from './sessions/event-store.ts'
import { leaseStore } from './sessions/lease-store.ts'
import { Leases } from './sessions/leases.ts'
import { LiveEvents } from './sessions/live-events.ts'
import { createPromptQueue } from './sessions/prompt-queue.ts'
import { promptStore } from './sessions/prompt-store.ts'
import { releaseWhenIdle } from './sessions/release.ts'
import { serveSessions } from './sessions/routes.ts'
import { Runner } from './sessions/runner.ts'
import { sessionStore } from './sessions/session-store.ts'
import { createSessions } from './sessions/sessions.ts'
import { ticketStore } from './sessions/ticket-store.ts'
import { createWaitForPrompt } from './sessions/wait-for-prompt.ts'
import { createWakeUps } from './sessions/wake-ups.ts'
import { createReadiness } from './system/readiness.ts'
import { serveSystem } from './system/routes.ts'
import { usageStore } from './usage/store.ts'
import { createUsage } from './usage/usage.ts'

interface Inputs {
  readonly config: Config
  readonly log: Log
  readonly databaseUrl: string
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
export async function compose({ config, log, databaseUrl }: Inputs): Promise<Composed> {
  // database
  const pool = createPool({
    url: databaseUrl,
    max: 20,
    onLost: error => log.warn({ err: error }, 'a database connection was lost'),
  })
  const db = createKysely(pool)
  const notifications = createNotifications({ connectionString: databaseUrl }, log)
  const owner = randomUUID()
  const shutdown = new AbortController()

  // gateway
  const usage = createUsage({ store: usageStore(db), log, isPassing: isUnavailable })
  const pools = createPools(createOutbound({ allow: config.outboundAllow }))
  const laneFor = createLanes({
    pools,
    secret: loadEncryptionKey({ given: config.encryptionKey, dataDir: config.dataDir }),
    onRepair: (what, deployment) => log.warn({ what, deployment }, 'an answer of an upstream was mended'),
  })
  const gateway = createGateway({ config, pools, laneFor, usage, log, hints: notifications })
  let current = config
  const defaultModel = () => gateway.models()[0]?.id ?? 'demo'

  // runtimes
  const workspacesDir = join(config.dataDir, 'workspaces')
  const sandboxes = await createSandboxes({ workspacesDir, log })
  const sessionRows = sessionStore(pool)
  const { markSandboxRunning } = sessionRows
  const builtin = builtinRuntime({ gateway, sandboxes, markSandboxRunning, log })
  const runtimes: ReadonlyMap<string, Runtime> = new Map([[builtin.id, builtin]])

  // agents
  const agentRows = agentStore(db)
  const agents = createAgents({
    store: agentRows,
    defaults: () => ({ model: defaultModel(), runtime: builtin.id, harness: builtin.id }),
    isRuntime: id => runtimes.has(id),
  })

  // sessions
  const prompts = promptStore(pool)
  const events = eventStore(pool)
  const leaseRows = leaseStore(pool)
  const live = new LiveEvents({ store: events, notifications, owner, log })
  const eventLog = createEventLog({ pool, store: events, live })
  const leases = new Leases({ store: leaseRows, prompts, notifications, owner, log })
  const wakeUps = createWakeUps(databaseUrl, log)
  const runner = new Runner({
    sessions: sessionRows,
    prompts,
    events,
    eventLog,
    live,
    log,
    agents: agentRows,
    runtimes,
    leases,
    leaseStore: leaseRows,
    release: held => releaseWhenIdle({ pool, sessions: sessionRows, prompts, leases: leaseRows }, held),
    maxSessions: config.limits.maxSessions,
  })
  const sessions = createSessions({
    pool,
    store: sessionRows,
    prompts,
    eventLog,
    agents: agentRows,
    runtimes,
    queue: createPromptQueue({ store: sessionRows, prompts, eventLog, wakeUps }),
    defaultModel,
    dispose: async sessionId => {
      await runner.settled(sessionId)
      await Promise.all([...runtimes.values()].map(runtime => runtime.dispose(sessionId)))
    },
  })

  // http
  const readiness = createReadiness(pool)
  const tickets = ticketStore(pool)
  const authenticate = createAuthenticate({
    masterKey: config.masterKey,
    insecureNoAuth: config.insecureNoAuth,
    logins: createLoginLimiter(() => performance.now()),
    redeemTicket: tickets.redeem,
  })
  const app = createServer({ authenticate, log, translateError: asUnavailable })
  const closeServer = createCloseServer(app)
  const providers = () => [...new Set(current.deployments.map(({ provider }) => provider))]
  serveSystem(app, { readiness, providers, gateway, runtimes })
  serveDocs(app)
  serveModels(app, { gateway })
  serveMessages(app, { gateway })
  serveOpenAi(app, { gateway })
  serveAgents(app, { agents })
  serveSessions(app, {
    sessions,
    events,
    modelName: ({ providerID, modelID }) => {
      const full = `${providerID}/${modelID}`
      return providerID !== undefined && gateway.find(full) ? full : modelID
    },
    waitForPrompt: createWaitForPrompt({ prompts, live }),
    workspaceOf: sessionId => join(workspacesDir, sessionId),
  })
  serveEvents(app, { sessions, store: events, live, tickets, shutdown: shutdown.signal })

  const runsSessions = config.role !== 'api'
  return {
    app,
    sandboxDriver: sandboxes.driver,
    models: gateway.models().map(({ id }) => id),
    async start() {
      await notifications.start(owner)
      await wakeUps.start()
      if (!runsSessions) return
      await runner.start()
      await wakeUps.listen(async sessionId => {
        await runner.untilFree()
        runner.wake(sessionId)
      })
    },
    reload(next) {
      const isAllowKept = isDeepStrictEqual(next.outboundAllow, current.outboundAllow)
      gateway.reload(next, isAllowKept ? undefined : createOutbound({ allow: next.outboundAllow }))
      current = next
    },
    leave: () => readiness.leave(),
    async stop(graceMs) {
      readiness.leave()
      shutdown.abort()
      await Promise.all([closeServer(graceMs), runner.drain(graceMs)])
      await leases.stop()
      await live.stop()
      await wakeUps.stop()
      await sandboxes.stopAll()
      await gateway.close()
      await usage.stop()
      await notifications.stop()
      await pool.end()
    },
  }
}
