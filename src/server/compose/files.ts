import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import type { Audit } from '../audit/audit.ts'
import type { Config } from '../config/config.ts'
import { fileStore } from '../files/file-store.ts'
import { createFiles } from '../files/files.ts'
import { serveStoredFiles } from '../files/routes.ts'
import type { Blobs } from '../workspaces/blobs.ts'
import { storeContent } from '../workspaces/contents.ts'

interface Needs {
  readonly pool: Pool
  readonly audit: Audit
  readonly blobs: Blobs
  /** The configuration that was read last. */
  readonly reloaded: () => Config
}

/** Files of callers, apart from sessions. */
export function composeFiles({ pool, audit, blobs, reloaded }: Needs) {
  const maxOwnerBytes = () => reloaded().limits.filesBytes
  const files = createFiles({ store: fileStore(pool), blobs, storeContent, audit, maxOwnerBytes })
  return { files, serve: (app: FastifyInstance) => serveStoredFiles(app, { files }) }
}
