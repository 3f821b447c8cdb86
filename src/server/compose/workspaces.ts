import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import type { Config } from '../config/config.ts'
import type { Files } from '../files/files.ts'
import type { Caller } from '../http/caller.ts'
import { serveOpencodeFiles } from '../opencode/file-routes.ts'
import type { Part } from '../platform/lifecycle.ts'
import type { Log } from '../platform/log.ts'
import type { Outbound } from '../platform/outbound.ts'
import type { Sandboxes } from '../sandboxes/sandboxes.ts'
import { createPromptFiles } from '../sessions/files/prompt-files.ts'
import { sessionFileStore } from '../sessions/files/session-file-store.ts'
import type { EventStore } from '../sessions/log/event-store.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { createWrittenFiles } from '../workspaces/artifacts.ts'
import { blobStore } from '../workspaces/blob-store.ts'
import { createBlobs } from '../workspaces/blobs.ts'
import { changesBetween } from '../workspaces/changes.ts'
import { checkpointStore } from '../workspaces/checkpoint-store.ts'
import { storeContent } from '../workspaces/contents.ts'
import { type ChangeFiles, createFileWrites } from '../workspaces/file-writes.ts'
import { createFiles } from '../workspaces/files.ts'
import { bucketObjects } from '../workspaces/objects.ts'
import { createOrphanCleanup } from '../workspaces/orphan-cleanup.ts'
import { serveFiles } from '../workspaces/routes.ts'
import { createWorkspaces } from '../workspaces/workspaces.ts'

interface Needs {
  readonly config: Pick<Config, 'workspaces'>
  readonly pool: Pool
  /** Checks the address of the object store. */
  readonly guard: () => Outbound
  readonly log: Log
  /** Contains one folder per session. */
  readonly workspacesDir: string
  readonly sandboxes: Pick<Sandboxes, 'makeFolder' | 'remove'>
  readonly workspaceOf: (sessionId: string) => string
  /** Files of callers, built later. */
  readonly callerFiles: () => Files
}

interface FileNeeds {
  readonly sessions: Sessions
  readonly events: EventStore
  readonly changeFiles: ChangeFiles
}

/** Files of sessions: checkpoints in the database and folders on this machine. */
export function composeWorkspaces(needs: Needs) {
  const { config, pool, log, guard, sandboxes, workspacesDir: folder, workspaceOf } = needs
  const blobRows = blobStore(pool)
  const { bucket, writesBucket } = config.workspaces
  const objects = bucket && bucketObjects(guard(), bucket)
  const blobs = createBlobs(blobRows, objects && { objects, isWritten: writesBucket })
  const checkpoints = checkpointStore(pool)
  const limits = config.workspaces
  const workspaces = createWorkspaces({
    checkpoints,
    blobRows,
    blobs,
    limits,
    folderOf: workspaceOf,
    makeFolder: sandboxes.makeFolder,
  })
  const cleanup = createOrphanCleanup({
    folder,
    deletedAmong: checkpoints.deletedAmong,
    remove: sandboxes.remove,
    log,
  })
  const parts: readonly Part[] = [
    { name: 'object store', stop: () => objects?.close() },
    { name: 'orphan cleanup', isSessionWork: true, start: cleanup.start, stop: cleanup.stop },
  ]
  return {
    workspaces,
    promptFiles: createPromptFiles({
      store: sessionFileStore(pool),
      blobs,
      blobRows,
      storeContent,
      limits,
      files: needs.callerFiles,
    }),
    /** Reads and writes content in pieces. */
    blobs,
    removeObject: objects?.remove,
    parts,
    /** Routes to read and change the files. */
    composeFiles({ sessions, events, changeFiles }: FileNeeds) {
      const files = createFiles({ sessions, events, checkpoints, blobs })
      const writes = createFileWrites({ open: sessions.open, changeFiles, checkpoints, blobRows, blobs, limits })
      const changesOf = async (id: string, caller: Caller) => {
        const [from, to] = [await files.snapshot(id, 'start', caller), await files.snapshot(id, undefined, caller)]
        return (await changesBetween(files, from, to)).data
      }
      return {
        written: createWrittenFiles({ checkpoints, events }),
        writes,
        serve(app: FastifyInstance) {
          serveFiles(app, { files, writes, events })
          serveOpencodeFiles(app, { files, changesOf })
        },
      }
    },
  }
}
