import type { PoolClient } from 'pg'
import type { NewEvent } from '../../contract/events.ts'
import type { Caller } from '../http/caller.ts'
import { AppError, invalid, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { BlobStore } from './blob-store.ts'
import type { Blobs } from './blobs.ts'
import type { CheckpointStore } from './checkpoint-store.ts'
import { storeContent } from './contents.ts'
import { ignoreFile, ignoreRules, maxIgnoreBytes } from './ignore.ts'
import type { WorkspaceLimits } from './limits.ts'
import {
  changedPaths,
  emptyManifest,
  type FileEntry,
  type Manifest,
  piecesOf,
  sizeOf,
  storedChange,
} from './manifest.ts'
import { namesOf, withEntry, withoutPath } from './tree.ts'

/** A session whose files a caller changes. */
export interface FilesOwner {
  readonly owner_id: string
  readonly checkpoint_id: string | null
}

/** Runs `work` on the files of a session without an active run, inside a transaction that has locked its row. */
export type ChangeFiles = (
  id: string,
  caller: Caller,
  /** Returns the event that reports the change; `commit` is called with its number. */
  work: (session: FilesOwner) => Promise<{ readonly event: NewEvent; readonly commit: Commit } | undefined>,
) => Promise<boolean>

type Commit = (client: PoolClient, seq: number) => Promise<void>

interface Deps {
  readonly open: (id: string, caller: Caller) => Promise<FilesOwner>
  readonly changeFiles: ChangeFiles
  readonly checkpoints: CheckpointStore
  readonly blobRows: Pick<BlobStore, 'need'>
  readonly blobs: Pick<Blobs, 'writer' | 'read'>
  readonly limits: WorkspaceLimits
}

interface Target {
  readonly id: string
  readonly path: string
  readonly caller: Caller
}

const maxTries = 3

/** Changes of a session's files by callers. The next run restores them into its folder. */
export type FileWrites = ReturnType<typeof createFileWrites>

export function createFileWrites(deps: Deps) {
  const { checkpoints, blobs, blobRows, limits } = deps

  /** Stores the files that `change` returns. Retried when a run has changed the files meanwhile. */
  async function save({ id, caller, path }: Target, word: 'written' | 'deleted', change: Change): Promise<void> {
    for (let tries = 0; tries < maxTries; tries++) {
      const before = await checkpoints.at(id)
      const session = await deps.open(id, caller)
      const manifest = await change(before?.manifest ?? emptyManifest, session.owner_id)
      checkSize(manifest, limits)
      const next = {
        id: newId('chk'),
        manifest,
        change: storedChange(before, manifest),
        changed: changedPaths(before?.manifest ?? emptyManifest, manifest).length,
        leftOut: before?.left_out ?? [],
      }
      const packed = await checkpoints.pack(next)
      const hashes = piecesOf(next.change?.set ?? manifest.values())
      const event: NewEvent = {
        type: 'session.files_changed',
        path,
        change: word,
        checkpoint_id: next.id,
        ...(word === 'written' && hashAt(manifest, path)),
        principal: caller.principal,
      }
      const isDone = await deps.changeFiles(id, caller, async current => {
        if (current.checkpoint_id !== (before?.id ?? null)) return undefined
        return {
          event,
          async commit(client, seq) {
            await blobRows.need(client, id, { owner: current.owner_id, hashes })
            await checkpoints.insert(client, id, { seq, packed, checkpoint: next })
          },
        }
      })
      if (isDone) return
    }
    throw new AppError('conflict', `files of session ${id} changed during the request; retry`)
  }

  return {
    /** Writes a file of at most `limits.fileBytes` and creates its folders. Replaces a link at that path. */
    async write(target: Target, body: AsyncIterable<Buffer>): Promise<FileEntry> {
      const { id, caller } = target
      const names = namesOf(target.path)
      if (names.length === 0) throw invalid('path must name a file in the workspace')
      const { owner_id: owner } = await deps.open(id, caller)
      const path = names.join('/')
      const content = await storeContent(blobs.writer(owner), body, limits.fileBytes)
      const mtimeMs = Date.now()
      let entry: FileEntry = { kind: 'file', path, mode: 0o644, mtimeMs, stat: '', ...content }
      await save({ ...target, path }, 'written', async manifest => {
        await rejectIgnored(manifest, path, hash => blobs.read(owner, hash))
        const old = manifest.get(path)
        entry = { ...entry, mode: old?.kind === 'file' ? old.mode : 0o644 }
        return withEntry(manifest, entry)
      })
      return entry
    },

    /** Deletes a file, a link, or a folder with its content. Errors: `not_found`. */
    async remove(target: Target): Promise<void> {
      const names = namesOf(target.path)
      if (names.length === 0) throw invalid('path must name a file or folder in the workspace')
      const path = names.join('/')
      await save({ ...target, path }, 'deleted', async manifest => {
        const next = withoutPath(manifest, path)
        if (!next) throw notFound('file', target.path)
        return next
      })
    },
  }
}

/** Names the content that was written, so that artifacts can leave it out. */
function hashAt(manifest: Manifest, path: string): { sha256?: string } {
  const entry = manifest.get(path)
  return entry?.kind === 'file' ? { sha256: entry.hash } : {}
}

type Change = (before: Manifest, owner: string) => Promise<Manifest>

function checkSize(manifest: Manifest, limits: WorkspaceLimits): void {
  const { bytes } = sizeOf(manifest)
  if (bytes > limits.bytes)
    throw new AppError('payload_too_large', `files of the session would exceed ${limits.bytes} bytes (${bytes})`)
  if (manifest.size > limits.files)
    throw new AppError('payload_too_large', `session would exceed ${limits.files} files (${manifest.size})`)
}

/** Rejects a path that checkpoints ignore, because the next step would lose the file. */
async function rejectIgnored(manifest: Manifest, path: string, read: (hash: string) => Promise<Buffer>): Promise<void> {
  const own = manifest.get(ignoreFile)
  const [first] = own?.kind === 'file' ? own.pieces : []
  const rules = ignoreRules(first === undefined ? '' : (await read(first)).toString('utf8', 0, maxIgnoreBytes))
  const names = path.split('/')
  const left = names.findIndex((_, at) => rules.ignores(names.slice(0, at + 1).join('/'), at < names.length - 1))
  if (left >= 0)
    throw invalid(`${path} is ignored by the built-in rules or by ${ignoreFile}; add a rule with ! to include it`)
}
