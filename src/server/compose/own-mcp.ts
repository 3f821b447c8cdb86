import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import type { TaskLog } from '../a2a/task-log.ts'
import { taskStore } from '../a2a/task-store.ts'
import type { Agents } from '../agents/agents.ts'
import { recalled } from '../db/once.ts'
import type { StreamSlots } from '../http/stream-slots.ts'
import type { Keys } from '../keys/keys.ts'
import { callRoutes, createAgentCalls } from '../mcp/own/agent-calls.ts'
import { createOwnServer } from '../mcp/own/own-server.ts'
import { serveOwnMcp } from '../mcp/own/routes.ts'
import { createSessionIds } from '../mcp/proxy/session-ids.ts'
import type { Keyring } from '../platform/encryption.ts'
import { titleOf } from '../sessions/new-session.ts'
import type { Sessions } from '../sessions/sessions.ts'

interface Needs {
  readonly pool: Pool
  readonly keyring: Keyring
  readonly keys: Pick<Keys, 'watch'>
  readonly slots: StreamSlots
  readonly agents: Agents
  readonly sessions: Sessions
  readonly log: TaskLog
  readonly publicUrl: () => string
  readonly shutdown: AbortSignal
}

/** This service as an MCP server. */
export function composeOwnMcp({ pool, keyring, agents, sessions, log, ...needs }: Needs) {
  const calls = createAgentCalls({
    agents,
    sessions,
    tasks: taskStore(pool),
    log,
    startedBy: call => recalled((text, values) => pool.query(text, [...values]), { ...call, route: callRoutes.prompt }),
    titleOf,
  })
  const server = createOwnServer({ agents, calls, log })
  return {
    serve(app: FastifyInstance) {
      serveOwnMcp(app, { ...needs, server, calls, sessionIds: createSessionIds(keyring) })
    },
  }
}
