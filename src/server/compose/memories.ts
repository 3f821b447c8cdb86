import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import type { Audit } from '../audit/audit.ts'
import { createMemories } from '../memories/memories.ts'
import { serveMemories, serveMemoryMcp } from '../memories/routes.ts'
import { createSessionMemories } from '../memories/session-memories.ts'
import { sessionMemoryStore } from '../memories/session-store.ts'
import { memoryStore } from '../memories/store.ts'
import type { Log } from '../platform/log.ts'

interface Needs {
  readonly log: Log
  readonly pool: Pool
  readonly audit: Audit
}

/** Memories of agents, for callers and for runtimes. */
export function composeMemories({ log, pool, audit }: Needs) {
  const memoryRows = memoryStore(pool)
  const sessionMemories = createSessionMemories({ store: memoryRows, sessionRows: sessionMemoryStore(pool), audit })
  const memories = createMemories({ store: memoryRows, sessionMemories, audit })

  return {
    sessionMemories,
    serve(app: FastifyInstance) {
      serveMemories(app, { memories })
      serveMemoryMcp(app, { memories, log })
    },
  }
}
