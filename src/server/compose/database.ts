import type { FastifyInstance } from 'fastify'
import { createAudit } from '../audit/audit.ts'
import { serveAudit } from '../audit/routes.ts'
import { auditStore } from '../audit/store.ts'
import { createKysely, createPool } from '../db/connect.ts'
import { sendHintsBy } from '../db/hints.ts'
import { createNotifications } from '../db/notifications.ts'
import type { Part } from '../platform/lifecycle.ts'
import type { Log } from '../platform/log.ts'

interface Needs {
  readonly log: Log
  readonly databaseUrl: string
  /** Replica id of this process. */
  readonly owner: string
}

/** Database pools, notifications between processes, and the audit log. */
export function composeDatabase({ log, databaseUrl, owner }: Needs) {
  const onLost = (error: Error) => log.warn({ err: error }, 'lost a database connection')
  const pool = createPool({ url: databaseUrl, max: 20, onLost })
  // A separate pool: calls under one budget wait for each other, and must not block other queries.
  const callPool = createPool({ url: databaseUrl, max: 8, onLost })
  const db = createKysely(pool)
  const notifications = createNotifications({ connectionString: databaseUrl }, log)
  for (const written of [pool, callPool]) sendHintsBy(written, notifications.send)
  const auditRows = auditStore(db)
  const parts: readonly Part[] = [
    { name: 'database pools', stop: async () => void (await Promise.all([pool.end(), callPool.end()])) },
    { name: 'notifications', start: () => notifications.start(owner), stop: notifications.stop },
  ]

  return {
    pool,
    callPool,
    db,
    notifications,
    audit: createAudit(auditRows),
    parts,
    serve: (app: FastifyInstance) => serveAudit(app, { log: auditRows }),
  }
}
