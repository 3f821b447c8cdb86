import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import type { Agents } from '../agents/agents.ts'
import type { AgentStore } from '../agents/store.ts'
import type { Audit } from '../audit/audit.ts'
import type { BudgetStore } from '../budgets/store.ts'
import type { Notifications } from '../db/notifications.ts'
import type { Files } from '../files/files.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { StreamSlots } from '../http/stream-slots.ts'
import type { WriteTurns } from '../http/write-turns.ts'
import type { Keys } from '../keys/keys.ts'
import type { RunAs } from '../keys/run-as.ts'
import { agentTimesStore } from '../managed-agents/agent-times-store.ts'
import { createManagedAgents } from '../managed-agents/agents.ts'
import { deploymentStore } from '../managed-agents/deployments/deployment-store.ts'
import { createDeploymentTicker } from '../managed-agents/deployments/deployment-ticker.ts'
import { createDeployments } from '../managed-agents/deployments/deployments.ts'
import { serveDeployments } from '../managed-agents/deployments/routes.ts'
import { createRunStart } from '../managed-agents/deployments/run-start.ts'
import { deploymentRunStore } from '../managed-agents/deployments/run-store.ts'
import { createDeploymentTiming } from '../managed-agents/deployments/timing.ts'
import { environmentStore } from '../managed-agents/environment-store.ts'
import { createEnvironments } from '../managed-agents/environments.ts'
import { fileResourceStore } from '../managed-agents/resources/file-resource-store.ts'
import { createFileResources } from '../managed-agents/resources/file-resources.ts'
import { serveDialectSessions, serveEnvironments, serveManagedAgents } from '../managed-agents/routes.ts'
import { sessionDetailsStore } from '../managed-agents/session-details-store.ts'
import { createSessionReading } from '../managed-agents/session-reading.ts'
import { createDialectSessions } from '../managed-agents/sessions.ts'
import { serveThreads } from '../managed-agents/thread-routes.ts'
import { createSessionThreads } from '../managed-agents/threads.ts'
import type { ManagedVaults } from '../managed-agents/vaults/managed-vaults.ts'
import type { SessionStores } from '../memory-stores/session-stores.ts'
import { feedStore } from '../opencode/feed-store.ts'
import { serveOpencode } from '../opencode/routes.ts'
import { opencodeSession } from '../opencode/session.ts'
import { SessionFeed } from '../opencode/session-feed.ts'
import { SessionTranslations } from '../opencode/session-translation.ts'
import type { Part } from '../platform/lifecycle.ts'
import type { Log } from '../platform/log.ts'
import type { RuntimeRegistry } from '../runtimes/runtime.ts'
import { takesSkillFiles } from '../runtimes/with-skill-files.ts'
import { checkCron, nextRun, nextRuns } from '../schedules/next-run.ts'
import { withOverrides } from '../sessions/agent-overrides.ts'
import type { EventReading } from '../sessions/event-reading.ts'
import type { EventStore } from '../sessions/log/event-store.ts'
import type { LiveEvents } from '../sessions/log/live-events.ts'
import { toSession } from '../sessions/session-row.ts'
import type { SessionStore } from '../sessions/session-store.ts'
import type { Sessions, ThreadArchive } from '../sessions/sessions.ts'
import type { Approvals } from '../sessions/waits/approvals.ts'
import type { CustomToolCalls } from '../sessions/waits/custom-tool-calls.ts'
import { attach, attachedIds, detachAll } from '../skills/blocks.ts'
import type { FileWrites } from '../workspaces/file-writes.ts'

interface Needs {
  readonly shutdown: AbortSignal
  readonly log: Log
  readonly pool: Pool
  readonly notifications: Notifications
  readonly audit: Audit
  readonly budgetRows: BudgetStore
  readonly keys: Keys
  readonly gateway: Gateway
  readonly runtimes: RuntimeRegistry
  readonly vaults: ManagedVaults
  readonly memoryStores: SessionStores
  /** Files of callers. */
  readonly callerFiles: Files
  /** Changes of the files of sessions. */
  readonly fileWrites: FileWrites
  readonly agents: Agents
  readonly agentRows: AgentStore
  /** Returns the given skills that are in the caller's library. */
  readonly skillsFor: Parameters<typeof createManagedAgents>[0]['skillsAmong']
  readonly sessions: Sessions
  readonly runAs: RunAs
  readonly approvals: Approvals
  readonly customToolCalls: CustomToolCalls
  readonly events: EventStore
  readonly live: LiveEvents
  readonly slots: StreamSlots
  readonly turns: WriteTurns
  readonly eventReading: EventReading
  readonly archiveThread: ThreadArchive
  readonly sessionRows: SessionStore
}

/** Our agents and sessions under the API of Managed Agents and of opencode's clients. */
export function composeDialects(needs: Needs) {
  const { log, pool, notifications, audit, keys, agents, agentRows, sessions, events, live } = needs

  // Managed Agents
  const blocks = { attach, detachAll, attachedIds }
  const managedAgents = createManagedAgents({
    agents,
    times: agentTimesStore(pool),
    skillsAmong: needs.skillsFor,
    blocks,
    takesSkillFiles: async runtime => takesSkillFiles(await needs.runtimes.find(runtime)),
  })
  const environments = createEnvironments({ pool, store: environmentStore(pool), audit })
  const sessionDetails = sessionDetailsStore(pool)
  const read = createSessionReading({ store: sessionDetails, toSession, withOverrides, agents: agentRows, blocks })
  const dialectSessions = createDialectSessions({
    pool,
    store: sessionDetails,
    sessions,
    rename: needs.sessionRows.rename,
    setMetadata: needs.sessionRows.setMetadata,
    read,
    agents: agentRows,
    managedAgents,
    environments,
    vaults: needs.vaults,
    memoryStores: needs.memoryStores,
    fileResources: createFileResources({
      store: fileResourceStore(pool),
      files: needs.callerFiles,
      runtimes: needs.runtimes,
      workspace: needs.fileWrites,
    }),
    budgets: needs.budgetRows,
    blocks,
  })
  const threads = createSessionThreads({
    store: sessionDetails,
    sessions,
    archive: needs.archiveThread,
    read,
  })

  // deployments
  const timing = createDeploymentTiming({ check: checkCron, next: nextRun, following: nextRuns })
  const start = createRunStart({ sessions: dialectSessions, log })
  const deploymentRows = { store: deploymentStore(pool), runs: deploymentRunStore(pool) }
  const shared = { pool, ...deploymentRows, agents: agentRows, start, timing }
  const deployments = createDeployments({ ...shared, sessions: dialectSessions, audit })
  const ticker = createDeploymentTicker({ ...shared, runAs: needs.runAs, log })

  // opencode's clients
  const feedRows = feedStore(pool)
  const feed = new SessionFeed({ store: feedRows, notifications, log })
  const translations = new SessionTranslations({ live, contextOf: feedRows.contextOf })

  const parts: readonly Part[] = [
    { name: 'session feed', stop: () => feed.stop() },
    { name: 'deployments', isSessionWork: true, start: ticker.start, drain: ticker.stop },
  ]

  return {
    parts,
    serve(app: FastifyInstance) {
      serveManagedAgents(app, { agents: managedAgents })
      serveEnvironments(app, { environments })
      serveDialectSessions(app, { sessions: dialectSessions })
      serveDeployments(app, { deployments })
      serveThreads(app, { threads, reading: needs.eventReading })
      serveOpencode(app, {
        bus: { feed, translations, events, turns: needs.turns },
        sessions,
        approvals: needs.approvals,
        customToolCalls: needs.customToolCalls,
        agents,
        runtimes: needs.runtimes,
        gateway: needs.gateway,
        keys,
        slots: needs.slots,
        toRecord: row => opencodeSession(toSession(row)),
        shutdown: needs.shutdown,
      })
    },
  }
}
