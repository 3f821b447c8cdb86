import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import type { Audit } from '../audit/audit.ts'
import { createMemoryStores } from '../memory-stores/memory-stores.ts'
import { serveMemoryStores, serveMemoryVersions } from '../memory-stores/routes.ts'
import { createSessionStores } from '../memory-stores/session-stores.ts'
import { storedMemoryStore } from '../memory-stores/store.ts'
import { memoryVersionStore } from '../memory-stores/version-store.ts'

interface Needs {
  readonly pool: Pool
  readonly audit: Audit
}

/** Memory stores of the Managed Agents dialect, for callers and for the agents of sessions. */
export function composeMemoryStores({ pool, audit }: Needs) {
  const store = storedMemoryStore(pool)
  const stores = createMemoryStores({ pool, store, versions: memoryVersionStore(pool), audit })

  return {
    sessionStores: createSessionStores({ store, stores }),
    serve(app: FastifyInstance) {
      serveMemoryStores(app, { stores })
      serveMemoryVersions(app, { stores })
    },
  }
}
