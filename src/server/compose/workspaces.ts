import type { Pool } from 'pg'
import type { Config } from '../config/config.ts'
import type { Sandboxes } from '../sandboxes/sandboxes.ts'
import { blobStore } from '../workspaces/blob-store.ts'
import { createBlobs } from '../workspaces/blobs.ts'
import { checkpointStore } from '../workspaces/checkpoint-store.ts'
import { createWorkspaces } from '../workspaces/workspaces.ts'

interface Needs {
  readonly config: Pick<Config, 'workspaces'>
  readonly pool: Pool
  readonly sandboxes: Pick<Sandboxes, 'makeFolder'>
  readonly workspaceOf: (sessionId: string) => string
}

/** The files of sessions: what the database keeps of them, and the folders of this machine. */
export function composeWorkspaces({ config, pool, sandboxes, workspaceOf }: Needs) {
  const blobRows = blobStore(pool)
  const workspaces = createWorkspaces({
    checkpoints: checkpointStore(pool),
    blobRows,
    blobs: createBlobs(blobRows),
    limits: config.workspaces,
    folderOf: workspaceOf,
    makeFolder: sandboxes.makeFolder,
  })
  return { workspaces }
}
