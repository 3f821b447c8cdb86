import { lstat } from 'node:fs/promises'
import type { Pool, PoolClient } from 'pg'
import { newId } from '../platform/ids.ts'
import type { BlobStore } from './blob-store.ts'
import type { Blobs } from './blobs.ts'
import { captureWorkspace } from './capture.ts'
import type { CheckpointStore } from './checkpoint-store.ts'
import type { LeftOut, WorkspaceLimits } from './limits.ts'
import {
  changedPaths,
  emptyManifest,
  extendChain,
  isSame,
  type Manifest,
  noChain,
  piecesOf,
  storedChange,
} from './manifest.ts'
import { type CachedFiles, ManifestCache } from './manifest-cache.ts'
import { markCheckpoint, markedCheckpoint, unmark } from './marker.ts'
import { type Restored, restoreWorkspace } from './restore.ts'

interface Deps {
  readonly checkpoints: CheckpointStore
  readonly blobRows: Pick<BlobStore, 'need'>
  readonly blobs: Blobs
  readonly limits: WorkspaceLimits
  /** Returns the folder of a session's files. */
  readonly folderOf: (sessionId: string) => string
  /** Creates that folder, so that tools can work in it. */
  readonly makeFolder: (sessionId: string) => Promise<void>
}

/** The fields of a session that its files need. */
export interface FilesOf {
  readonly id: string
  readonly owner_id: string
  /** Id of its last checkpoint; null before the first. */
  readonly checkpoint_id: string | null
}

type Queryable = Pool | PoolClient

/** A checkpoint whose content is stored. It takes effect when it is committed with its events. */
export interface ReadyCheckpoint {
  readonly id: string
  /** Paths that it does not include; undefined when they are the same as in the previous checkpoint. */
  readonly leftOut: readonly LeftOut[] | undefined
  /** `seq` is the number of the transaction's last event. */
  commit(on: Queryable, seq: number): Promise<void>
  /** Must be called after the commit. */
  done(): Promise<void>
}

/** Result of a restore. */
export interface RestoredFiles extends Pick<Restored, 'files' | 'bytes'> {
  readonly checkpointId: string
  readonly seq: number
  readonly leftOut: readonly LeftOut[]
}

/** Checkpoints of session files and the workspace folders of this machine. */
export type Workspaces = ReturnType<typeof createWorkspaces>

export function createWorkspaces(deps: Deps) {
  const { checkpoints, blobRows, blobs, limits, folderOf } = deps
  const manifests = new ManifestCache()

  /** Returns the manifest of the last checkpoint with the file states of this machine. */
  async function lastOf({ id, checkpoint_id }: FilesOf): Promise<CachedFiles> {
    const last = manifests.get(id)
    if (last && (last.checkpointId ?? null) === checkpoint_id) return last
    const loaded = checkpoint_id === null ? undefined : await checkpoints.at(id)
    if (!loaded) return { checkpointId: undefined, manifest: emptyManifest, leftOut: [], chain: noChain }
    const { manifest, left_out: leftOut, chain } = loaded
    return { checkpointId: loaded.id, manifest, leftOut, chain }
  }

  return {
    /**
     * Restores the folder of a session to its last checkpoint. Returns undefined when the folder is up to date or there
     * is no checkpoint. Rejects when a part cannot be read or written; the next call starts over.
     */
    async restore({ id, owner_id, checkpoint_id }: FilesOf): Promise<RestoredFiles | undefined> {
      const folder = folderOf(id)
      if (checkpoint_id === null || (await markedCheckpoint(folder)) === checkpoint_id) return undefined
      const loaded = await checkpoints.at(id)
      if (!loaded) return undefined
      await unmark(folder)
      await deps.makeFolder(id)
      const { left_out: leftOut, seq, chain } = loaded
      const restoring = { blobs, owner: owner_id, leftOut }
      const { manifest, files, bytes } = await restoreWorkspace(folder, loaded.manifest, restoring)
      manifests.set(id, { checkpointId: loaded.id, manifest, leftOut, chain })
      await markCheckpoint(folder, loaded.id)
      return { checkpointId: loaded.id, seq, leftOut, files, bytes }
    },

    /**
     * Stores the changes in the folder of a session since its last checkpoint. Returns undefined when there are none.
     */
    async capture(session: FilesOf): Promise<ReadyCheckpoint | undefined> {
      const { id, owner_id: owner } = session
      const folder = folderOf(id)
      if (!(await isFolder(folder))) return undefined
      const last = await lastOf(session)
      const { manifest, leftOut } = await captureWorkspace(folder, { blobs, owner, limits, last: last.manifest })
      const hasNewLeftOut = JSON.stringify(leftOut) !== JSON.stringify(last.leftOut)
      if (!hasNewLeftOut && !hasChanged(last.manifest, manifest)) {
        manifests.set(id, { ...last, manifest })
        return undefined
      }
      const change = storedChange(last.checkpointId === undefined ? undefined : last, manifest)
      const next = {
        id: newId('chk'),
        manifest,
        leftOut,
        change,
        changed: changedPaths(last.manifest, manifest).length,
      }
      const packed = await checkpoints.pack(next)
      const hashes = piecesOf(change?.set ?? manifest.values())
      return {
        id: next.id,
        leftOut: hasNewLeftOut ? leftOut : undefined,
        async commit(on, seq) {
          await blobRows.need(on, id, { owner, hashes })
          await checkpoints.insert(on, id, { seq, packed, checkpoint: next })
        },
        async done() {
          manifests.set(id, {
            checkpointId: next.id,
            manifest,
            leftOut,
            chain: change ? extendChain(last.chain, change) : noChain,
          })
          // Without the marker the next owner restores the files, which is also correct.
          await markCheckpoint(folder, next.id).catch(() => undefined)
        },
      }
    },
  }
}

const isFolder = (path: string): Promise<boolean> =>
  lstat(path).then(
    found => found.isDirectory(),
    () => false,
  )

function hasChanged(before: Manifest, after: Manifest): boolean {
  if (before.size !== after.size) return true
  for (const entry of after.values()) {
    const old = before.get(entry.path)
    if (old === undefined || (old !== entry && !isSame(old, entry))) return true
  }
  return false
}
