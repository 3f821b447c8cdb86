import type { Audit } from '../audit/audit.ts'
import type { OnceKey } from '../db/once.ts'
import type { Actor } from '../http/caller.ts'
import { digestOf } from '../platform/digest.ts'
import { AppError, invalid, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { Blobs } from '../workspaces/blobs.ts'
import type { FileInfo, FileStore, FilesPage, OnFileChange, StoredFile } from './file-store.ts'
import { mediaTypeOf } from './media-type-of.ts'

export type { StoredFile } from './file-store.ts'

/** Maximum bytes of a file. */
export const maxFileBytes = 512 * 1024 * 1024

interface Deps {
  readonly store: FileStore
  readonly blobs: Pick<Blobs, 'writer' | 'read'>
  /** Stores a body in pieces. */
  readonly storeContent: (
    writer: ReturnType<Blobs['writer']>,
    body: AsyncIterable<Buffer>,
    maxBytes: number,
  ) => Promise<{ readonly size: number; readonly hash: string; readonly pieces: readonly string[] }>
  readonly audit: Audit
  /** Maximum bytes of all files of an owner. */
  readonly maxOwnerBytes: () => number
}

/** Content that belongs to no file yet: it must be passed to `add` or `discard`. */
export interface ReceivedContent {
  /** Id of the future file. */
  readonly id: string
  readonly size: number
  readonly sha256: string
  readonly pieces: readonly string[]
  /** First bytes, at most 64. */
  readonly start: Buffer
}

/** What a file is besides its content. */
export interface FileFields {
  readonly purpose: string
  readonly filename: string
  /** As the sender states it; undefined when it does not. */
  readonly mediaType: string | undefined
  /** Lifetime in seconds; undefined: without end. */
  readonly expiresInS: number | undefined
}

/** Whose file it is, and who acts, for the audit log. */
export interface FileBy {
  /** Principal of a caller. */
  readonly owner: string
  readonly actor: Actor
  /** Identifies the request, so that a repeat returns its file. */
  readonly idempotency?: Omit<OnceKey, 'bodyHash'> | undefined
}

/**
 * Files of callers, apart from sessions. A file belongs to the principal that stored it and is visible to that
 * principal only: for all others it is `not_found`.
 */
export type Files = ReturnType<typeof createFiles>

export function createFiles({ store, blobs, storeContent, audit, maxOwnerBytes }: Deps) {
  const recorded =
    (action: 'create' | 'delete', { owner, actor }: FileBy): OnFileChange =>
    (sql, file) => {
      const fields = publicFields(file)
      const changed = action === 'create' ? { after: fields } : { before: fields }
      return audit.record(sql, { actor, action: `file.${action}`, objectId: file.id, ownerId: owner, ...changed })
    }

  const checkOwner = (owner: string, bytes: number) => (others: number) => {
    if (others + bytes > maxOwnerBytes()) throw tooMuch(owner, maxOwnerBytes(), others)
  }

  async function get(owner: string, id: string): Promise<StoredFile> {
    const [file] = await store.among(owner, [id])
    if (!file) throw notFound('file', id.slice(0, 200))
    return file
  }

  async function* contentOf({ id, pieces }: Pick<StoredFile, 'id' | 'pieces'>): AsyncGenerator<Buffer> {
    for (const piece of pieces) yield await blobs.read(id, piece)
  }

  /**
   * Stores content without holding it in memory. When it fails, nothing is left. Errors: `payload_too_large`,
   * `invalid_request` for an empty file.
   */
  async function receive(owner: string, content: AsyncIterable<Buffer>): Promise<ReceivedContent> {
    const id = newId('file')
    const others = await store.bytesOf(owner)
    const left = maxOwnerBytes() - others
    let start = Buffer.alloc(0)
    let size = 0
    async function* checked() {
      for await (const chunk of content) {
        size += chunk.length
        if (size > left) throw tooMuch(owner, maxOwnerBytes(), others)
        if (start.length < startBytes) start = Buffer.concat([start, chunk.subarray(0, startBytes - start.length)])
        yield chunk
      }
      if (size === 0) throw invalid('file is empty')
    }
    try {
      const { hash, pieces } = await storeContent(blobs.writer(id), checked(), maxFileBytes)
      return { id, size, sha256: hash, pieces, start }
    } catch (error) {
      await store.discard(id)
      throw error
    }
  }

  /**
   * Makes a file of received content. When it fails, or repeats an earlier request, the content is deleted. Errors:
   * `payload_too_large`, `idempotency_mismatch`.
   */
  async function add(received: ReceivedContent, fields: FileFields, by: FileBy): Promise<StoredFile> {
    const { id, size: bytes, sha256, pieces, start } = received
    const { purpose, filename, mediaType, expiresInS } = fields
    try {
      const media_type = mediaTypeOf({ filename, mediaType, start })
      const file = { id, owner: by.owner, purpose, filename, media_type, bytes, sha256, pieces, expiresInS }
      const idempotency = by.idempotency && { ...by.idempotency, bodyHash: hashOf(received, fields) }
      const check = checkOwner(by.owner, bytes)
      const stored = await store.insert(file, { check, onChange: recorded('create', by), idempotency })
      if (stored.id !== id) await store.discard(id)
      return stored
    } catch (error) {
      await store.discard(id)
      throw error
    }
  }

  return {
    get,
    receive,
    add,
    /** Deletes received content that becomes no file. */
    discard: ({ id }: ReceivedContent): Promise<void> => store.discard(id),
    /** Stores a file. The same as `receive` and `add`. */
    create: async (content: AsyncIterable<Buffer>, fields: FileFields, by: FileBy): Promise<StoredFile> =>
      add(await receive(by.owner, content), fields, by),
    /** Returns the content of a file in chunks of at most 1 MiB. */
    contentOf,
    /** Returns those of the given files that belong to the owner, in no order. */
    among: store.among,
    /** Returns files in the order of their creation. */
    list: (owner: string, page: FilesPage): Promise<FileInfo[]> => store.list(owner, page),
    /** Deletes a file. Its content is deleted within a minute. */
    async remove(id: string, by: FileBy): Promise<void> {
      if (!(await store.remove(by.owner, id, recorded('delete', by)))) throw notFound('file', id.slice(0, 200))
    },
  }
}

const startBytes = 64

/** Returns the SHA-256 of what an upload contains, whatever the boundary of its form. */
const hashOf = ({ sha256 }: ReceivedContent, { purpose, filename, mediaType, expiresInS }: FileFields): Buffer =>
  digestOf(JSON.stringify([sha256, purpose, filename, mediaType ?? null, expiresInS ?? null]))

const publicFields = ({ filename, purpose, media_type, bytes, sha256, expires_at }: StoredFile) => ({
  filename,
  purpose,
  media_type,
  bytes,
  sha256,
  expires_at: expires_at?.toISOString() ?? null,
})

const tooMuch = (owner: string, limit: number, others: number): AppError =>
  new AppError(
    'payload_too_large',
    `files of ${owner} would exceed limits.files_bytes (${limit} bytes, ${others} of them in use); delete some of them`,
  )
