import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import { serveA2a } from '../a2a/routes.ts'
import { createTaskLog } from '../a2a/task-log.ts'
import { taskStore } from '../a2a/task-store.ts'
import { createTasks } from '../a2a/tasks.ts'
import type { Agents } from '../agents/agents.ts'
import type { Authenticate } from '../http/auth.ts'
import type { StreamSlots } from '../http/stream-slots.ts'
import type { WriteTurns } from '../http/write-turns.ts'
import type { Keys } from '../keys/keys.ts'
import type { EventStore } from '../sessions/log/event-store.ts'
import type { LiveEvents } from '../sessions/log/live-events.ts'
import { titleOf } from '../sessions/new-session.ts'
import type { Sessions } from '../sessions/sessions.ts'

interface Needs {
  readonly shutdown: AbortSignal
  readonly pool: Pool
  readonly authenticate: Authenticate
  readonly keys: Keys
  readonly agents: Agents
  readonly sessions: Sessions
  readonly events: EventStore
  readonly live: LiveEvents
  readonly slots: StreamSlots
  readonly turns: WriteTurns
  readonly publicUrl: () => string
}

/** Our agents under the Agent2Agent protocol. */
export function composeA2a({ pool, sessions, events, live, ...needs }: Needs) {
  const log = createTaskLog({ events, live })
  const tasks = createTasks({ store: taskStore(pool), sessions, log, titleOf })
  return {
    log,
    serve(app: FastifyInstance) {
      serveA2a(app, { ...needs, tasks, log })
    },
  }
}
