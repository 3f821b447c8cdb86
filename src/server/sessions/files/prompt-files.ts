import type { Pool, PoolClient } from 'pg'
import {
  type FilePart,
  maxPromptFileBytes,
  maxPromptFiles,
  maxPromptFilesBytes,
} from '../../../contract/prompt-files.ts'
import type { PromptPart } from '../../../contract/prompts.ts'
import type { Files, StoredFile } from '../../files/files.ts'
import { AppError, invalid } from '../../platform/errors.ts'
import type { Blobs } from '../../workspaces/blobs.ts'
import type { WorkspaceLimits } from '../../workspaces/limits.ts'
import { CheckedContent, decodedBytes, decodedContent } from './file-content.ts'
import { fileNameOf } from './file-name.ts'
import type { SentPart, SentReference } from './sent-file.ts'
import type { SessionFile, SessionFileStore } from './session-file-store.ts'

type Queryable = Pool | PoolClient

interface Deps {
  readonly store: SessionFileStore
  readonly blobs: Pick<Blobs, 'writer' | 'read'>
  readonly blobRows: {
    /** Records that a session needs the pieces until it is deleted. */
    need(
      on: Queryable,
      sessionId: string,
      pieces: { readonly owner: string; readonly hashes: readonly string[] },
    ): Promise<void>
  }
  /** Stores a body in pieces. */
  readonly storeContent: (
    writer: ReturnType<Blobs['writer']>,
    body: AsyncIterable<Buffer>,
    maxBytes: number,
  ) => Promise<{ readonly size: number; readonly hash: string; readonly pieces: readonly string[] }>
  readonly limits: Pick<WorkspaceLimits, 'bytes'>
  /** Files that callers have uploaded before. */
  readonly files: () => Pick<Files, 'among' | 'contentOf'>
}

/** Whose session gets the files, and who sends them. */
interface Receiver {
  readonly owner: string
  readonly sender: string
}

/** A file that is about to be stored. */
interface Incoming {
  readonly field: string
  readonly name: string | undefined
  readonly mediaType: string | undefined
  readonly bytes: number
  readonly content: () => AsyncIterable<Buffer>
}

/** Parts of a prompt whose files are stored, but belong to no session yet. */
export interface PreparedParts {
  readonly parts: readonly PromptPart[]
  /** Adds the files to the session, in the transaction that stores the prompt. Absent when there are none. */
  readonly attach?: (on: Queryable, sessionId: string) => Promise<void>
}

/** Folder of the workspace for the files of prompts. */
const uploads = 'uploads'

/** Files of prompts: their content is stored in pieces, and written into the workspace when the prompt runs. */
export type PromptFiles = ReturnType<typeof createPromptFiles>

export function createPromptFiles({ store, blobs, blobRows, storeContent, limits, files }: Deps) {
  /** Returns the uploaded files by their id. Throws `invalid_request` for one that the sender does not have. */
  async function uploaded(references: readonly SentReference[], sender: string) {
    if (references.length === 0) return new Map<string, StoredFile>()
    const ids = references.map(({ fileId }) => fileId)
    const found = new Map((await files().among(sender, ids)).map(one => [one.id, one]))
    const missing = references.find(({ fileId }) => !found.has(fileId))
    if (missing) throw invalid(`${missing.field}: file ${missing.fileId.slice(0, 200)} not found`)
    return found
  }

  function incoming(part: FileOf, found: ReadonlyMap<string, StoredFile>): Incoming {
    if (part.type === 'file') {
      const { file } = part
      const { field, name, mediaType } = file
      return { field, name, mediaType, bytes: decodedBytes(file), content: () => decodedContent(file) }
    }
    const { field, name, fileId } = part.file
    const file = found.get(fileId)
    if (!file) throw new Error(`file ${fileId} is missing (bug)`)
    const { filename, media_type: mediaType, bytes } = file
    return { field, name: name ?? filename, mediaType, bytes, content: () => files().contentOf(file) }
  }

  async function stored(file: Incoming, owner: string): Promise<{ part: FilePart; row: SessionFile }> {
    const checked = new CheckedContent(file, file.content())
    const { size, hash, pieces } = await storeContent(blobs.writer(owner), checked.chunks(), maxPromptFileBytes)
    const { mediaType } = checked
    const name = fileNameOf(file.name, mediaType)
    const path = `${uploads}/${hash.slice(0, 12)}/${name}`
    return {
      part: { type: 'file', name, media_type: mediaType, size, sha256: hash, path },
      row: { hash, owner, bytes: size, pieces },
    }
  }

  return {
    /**
     * Stores the files among the parts. Content that no session gets is deleted a day later. Throws `invalid_request`
     * and `payload_too_large`.
     */
    async prepare(parts: readonly SentPart[], { owner, sender }: Receiver): Promise<PreparedParts> {
      const references = parts.flatMap(part => (part.type === 'reference' ? [part.file] : []))
      const found = await uploaded(references, sender)
      const sent = parts.map(part =>
        part.type === 'text' ? part : { type: 'file' as const, file: incoming(part, found) },
      )
      checkSizes(sent.flatMap(part => (part.type === 'file' ? [part.file] : [])))
      const rows: SessionFile[] = []
      const prepared: PromptPart[] = []
      for (const part of sent) {
        if (part.type === 'text') prepared.push(part)
        else {
          const { part: filePart, row } = await stored(part.file, owner)
          prepared.push(filePart)
          rows.push(row)
        }
      }
      if (rows.length === 0) return { parts: prepared }
      return {
        parts: prepared,
        async attach(on, sessionId) {
          for (const row of rows) {
            await store.add(on, sessionId, row)
            await blobRows.need(on, sessionId, { owner, hashes: row.pieces })
          }
          if ((await store.bytesIn(on, sessionId)) > limits.bytes)
            throw new AppError('payload_too_large', `files of the session's prompts would exceed ${limits.bytes} bytes`)
        },
      }
    },

    /** Returns the text of an uploaded file. Throws `invalid_request` for another content, or one that is too long. */
    async textOf(
      reference: SentReference,
      { sender, maxLength }: { sender: string; maxLength: number },
    ): Promise<string> {
      const { field, fileId } = reference
      const file = (await uploaded([reference], sender)).get(fileId)
      // A character has at most four bytes.
      if (!file || file.bytes > 4 * maxLength) throw invalid(`${field}: the file exceeds ${maxLength} characters`)
      const text = textIn(await Array.fromAsync(files().contentOf(file)))
      if (text === undefined) throw invalid(`${field}: the file is not a text in UTF-8`)
      if (text.length > maxLength) throw invalid(`${field}: the file exceeds ${maxLength} characters`)
      return text
    },

    /** Returns the content of a file. */
    async read(sessionId: string, { sha256 }: Pick<FilePart, 'sha256'>): Promise<Buffer> {
      const found = await store.find(sessionId, sha256)
      if (!found) throw new Error(`session ${sessionId} has no file ${sha256}`)
      const pieces: Buffer[] = []
      for (const piece of found.pieces) pieces.push(await blobs.read(found.owner, piece))
      return Buffer.concat(pieces)
    },
  }
}

/** Returns the text of UTF-8; undefined for other content, and for U+0000, which the database cannot store. */
function textIn(chunks: readonly Buffer[]): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}

type FileOf = Extract<SentPart, { readonly file: unknown }>

/** Checks the limits before anything is decoded. */
function checkSizes(files: readonly Incoming[]): void {
  if (files.length > maxPromptFiles) throw invalid(`a prompt can have at most ${maxPromptFiles} files`)
  let total = 0
  for (const { field, bytes } of files) {
    if (bytes > maxPromptFileBytes)
      throw new AppError('payload_too_large', `${field} exceeds ${maxPromptFileBytes} bytes`)
    total += bytes
  }
  if (total > maxPromptFilesBytes)
    throw new AppError('payload_too_large', `files of a prompt exceed ${maxPromptFilesBytes} bytes together`)
}
