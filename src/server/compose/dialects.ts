import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import type { Agents } from '../agents/agents.ts'
import type { AgentStore } from '../agents/store.ts'
import type { Audit } from '../audit/audit.ts'
import type { BudgetStore } from '../budgets/store.ts'
import type { Notifications } from '../db/notifications.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { StreamSlots } from '../http/stream-slots.ts'
import type { WriteTurns } from '../http/write-turns.ts'
import type { Keys } from '../keys/keys.ts'
import { agentTimesStore } from '../managed-agents/agent-times-store.ts'
import { createManagedAgents } from '../managed-agents/agents.ts'
import { environmentStore } from '../managed-agents/environment-store.ts'
import { createEnvironments } from '../managed-agents/environments.ts'
import { serveDialectSessions, serveEnvironments, serveManagedAgents } from '../managed-agents/routes.ts'
import { sessionDetailsStore } from '../managed-agents/session-details-store.ts'
import { createDialectSessions } from '../managed-agents/sessions.ts'
import { feedStore } from '../opencode/feed-store.ts'
import { serveOpencode } from '../opencode/routes.ts'
import { opencodeSession } from '../opencode/session.ts'
import { SessionFeed } from '../opencode/session-feed.ts'
import { SessionTranslations } from '../opencode/session-translation.ts'
import type { Part } from '../platform/lifecycle.ts'
import type { Log } from '../platform/log.ts'
import type { RuntimeRegistry } from '../runtimes/runtime.ts'
import { withOverrides } from '../sessions/agent-overrides.ts'
import type { EventStore } from '../sessions/log/event-store.ts'
import type { LiveEvents } from '../sessions/log/live-events.ts'
import { toSession } from '../sessions/session-row.ts'
import type { SessionStore } from '../sessions/session-store.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Approvals } from '../sessions/waits/approvals.ts'
import type { CustomToolCalls } from '../sessions/waits/custom-tool-calls.ts'
import { attach, attachedIds, detachAll } from '../skills/blocks.ts'
import type { Skills } from '../skills/skills.ts'

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
  readonly agents: Agents
  readonly agentRows: AgentStore
  readonly skills: Skills
  readonly sessions: Sessions
  readonly approvals: Approvals
  readonly customToolCalls: CustomToolCalls
  readonly events: EventStore
  readonly live: LiveEvents
  readonly slots: StreamSlots
  readonly turns: WriteTurns
  readonly rename: SessionStore['rename']
  readonly setMetadata: SessionStore['setMetadata']
}

/** Our agents and sessions under the API of Managed Agents and of opencode's clients. */
export function composeDialects(needs: Needs) {
  const { log, pool, notifications, audit, keys, agents, agentRows, sessions, events, live } = needs

  // Managed Agents
  const blocks = { attach, detachAll, attachedIds }
  const managedAgents = createManagedAgents({
    agents,
    times: agentTimesStore(pool),
    skillsAmong: needs.skills.among,
    blocks,
  })
  const environments = createEnvironments({ pool, store: environmentStore(pool), audit })
  const dialectSessions = createDialectSessions({
    pool,
    store: sessionDetailsStore(pool),
    sessions,
    rename: needs.rename,
    setMetadata: needs.setMetadata,
    toSession,
    withOverrides,
    agents: agentRows,
    managedAgents,
    environments,
    budgets: needs.budgetRows,
    blocks,
  })

  // opencode's clients
  const feedRows = feedStore(pool)
  const feed = new SessionFeed({ store: feedRows, notifications, log })
  const translations = new SessionTranslations({ live, contextOf: feedRows.contextOf })

  const parts: readonly Part[] = [{ name: 'session feed', stop: () => feed.stop() }]

  return {
    parts,
    serve(app: FastifyInstance) {
      serveManagedAgents(app, { agents: managedAgents })
      serveEnvironments(app, { environments })
      serveDialectSessions(app, { sessions: dialectSessions })
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
