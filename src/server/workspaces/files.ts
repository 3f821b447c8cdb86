import { pipeline } from 'node:stream'
import { createGzip } from 'node:zlib'
import type { FilesAsOf, ListedCheckpoint, WorkspaceFile } from '../../contract/files.ts'
import type { Caller } from '../http/caller.ts'
import { invalid, invalidCursor, notFound } from '../platform/errors.ts'
import type { EventStore } from '../sessions/log/event-store.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Blobs } from './blobs.ts'
import type { CheckpointStore, Loaded } from './checkpoint-store.ts'
import { type Entry, emptyManifest, type FileEntry, type Manifest } from './manifest.ts'
import { tarEnd, tarHead, tarPadding } from './tar.ts'
import { childrenOf, followed } from './tree.ts'

interface Deps {
  readonly sessions: Pick<Sessions, 'open'>
  readonly events: Pick<EventStore, 'seqOfEvent'>
  readonly checkpoints: Pick<CheckpointStore, 'at' | 'first' | 'list'>
  readonly blobs: Pick<Blobs, 'read'>
}

/** The files of a session as of one event. */
export interface Snapshot {
  readonly owner: string
  readonly manifest: Manifest
  readonly asOf: FilesAsOf
}

/** The stored files of sessions as callers read them, independent of where the sessions run. */
export type Files = ReturnType<typeof createFiles>

export function createFiles({ sessions, events, checkpoints, blobs }: Deps) {
  async function loaded(id: string, at: string | undefined): Promise<Loaded | undefined> {
    if (at === undefined) return checkpoints.at(id)
    // A session starts with files only when it was forked.
    if (at === 'start') return checkpoints.first(id)
    const seq = await events.seqOfEvent(id, at)
    if (seq === undefined) throw notFound('event', at)
    return checkpoints.at(id, seq)
  }

  /** Errors: `not_found` for a session that the caller may not see, and for an event that is not in its log. */
  async function snapshot(id: string, at: string | undefined, caller: Caller): Promise<Snapshot> {
    const { owner_id: owner } = await sessions.open(id, caller)
    const found = await loaded(id, at)
    if (!found) return { owner, manifest: emptyManifest, asOf: null }
    const { manifest, id: checkpoint_id, seq, created_at } = found
    return { owner, manifest, asOf: { checkpoint_id, seq, created_at: created_at.toISOString() } }
  }

  /** Yields the bytes of a file, piece by piece. */
  async function* contentOf(owner: string, { pieces }: FileEntry): AsyncGenerator<Buffer> {
    for (const hash of pieces) yield await blobs.read(owner, hash)
  }

  async function* tarOf({ owner, manifest }: Snapshot): AsyncGenerator<Buffer> {
    const entries = [...manifest.values()].sort((one, other) => (one.path < other.path ? -1 : 1))
    for (const entry of entries) {
      yield tarHead(entry)
      if (entry.kind !== 'file') continue
      yield* contentOf(owner, entry)
      yield tarPadding(entry.size)
    }
    yield tarEnd
  }

  return {
    snapshot,
    contentOf,

    /** Returns the checkpoints of a session before event `after`, newest first. */
    async checkpoints(
      id: string,
      { after, limit }: { readonly after: string | undefined; readonly limit: number },
      caller: Caller,
    ): Promise<ListedCheckpoint[]> {
      await sessions.open(id, caller)
      if (after !== undefined && !/^[1-9][0-9]{0,14}$/.test(after)) throw invalidCursor()
      return checkpoints.list(id, { before: after === undefined ? undefined : Number(after), limit })
    },

    /** Returns the direct entries of a folder. Errors: `not_found`, `invalid_request` for a file. */
    list({ manifest }: Snapshot, path: string): Entry[] {
      const folder = followed(manifest, path)
      const entry = folder === undefined || folder === '' ? undefined : manifest.get(folder)
      if (folder === undefined) throw notFound('file', path)
      if (entry?.kind === 'file') throw invalid(`${path} is a file; read it at /files/{path}`)
      return childrenOf(manifest, folder)
    },

    /** Returns the file at a path, with links followed. Errors: `not_found`, `invalid_request` for a folder. */
    file({ manifest }: Snapshot, path: string): FileEntry {
      const place = followed(manifest, path)
      const entry = place === undefined ? undefined : manifest.get(place)
      if (place === '' || entry?.kind === 'folder') throw invalid(`${path} is a folder; list it with ?path=`)
      if (entry?.kind !== 'file') throw notFound('file', path)
      return entry
    },

    /** Returns all files as a gzip-compressed tar archive. */
    archive(of: Snapshot): NodeJS.ReadableStream {
      // The response has begun, so a failure can only break the connection.
      return pipeline(tarOf(of), createGzip(), () => undefined)
    },
  }
}

/** Returns the public record of an entry. */
export function shown(entry: Entry): WorkspaceFile {
  const file = entry.kind === 'file' ? entry : undefined
  return {
    path: entry.path,
    type: entry.kind,
    size: file?.size ?? null,
    mode: entry.kind === 'link' ? null : entry.mode,
    sha256: file?.hash ?? null,
    modified_at: file ? new Date(file.mtimeMs).toISOString() : null,
    target: entry.kind === 'link' ? entry.target : null,
  }
}
