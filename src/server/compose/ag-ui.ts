import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import { serveAgUi } from '../ag-ui/routes.ts'
import { createRunLog } from '../ag-ui/run-log.ts'
import { threadStore } from '../ag-ui/thread-store.ts'
import { createThreads } from '../ag-ui/threads.ts'
import type { Agents } from '../agents/agents.ts'
import type { StreamSlots } from '../http/stream-slots.ts'
import type { WriteTurns } from '../http/write-turns.ts'
import type { Keys } from '../keys/keys.ts'
import type { ResultSchemas } from '../platform/result-schema/result-schemas.ts'
import type { EventStore } from '../sessions/log/event-store.ts'
import type { LiveEvents } from '../sessions/log/live-events.ts'
import { titleOf } from '../sessions/new-session.ts'
import type { Sessions } from '../sessions/sessions.ts'

interface Needs {
  readonly shutdown: AbortSignal
  readonly pool: Pool
  readonly resultSchemas: ResultSchemas
  readonly keys: Keys
  readonly agents: Agents
  readonly sessions: Sessions
  readonly events: EventStore
  readonly live: LiveEvents
  readonly slots: StreamSlots
  readonly turns: WriteTurns
  /** Id of the built-in runtime. */
  readonly ownRuntime: string
}

/** Our agents for front-ends of AG-UI. */
export function composeAgUi({ pool, sessions, events, live, resultSchemas, ownRuntime, ...needs }: Needs) {
  const store = threadStore(pool)
  const log = createRunLog({ events, live, storedEvents: store.storedEvents })
  const threads = createThreads({ pool, store, sessions, log, resultSchemas, ownRuntime, titleOf })
  return {
    serve(app: FastifyInstance) {
      serveAgUi(app, { ...needs, threads, log })
    },
  }
}
