import { createHash, randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'

interface Settings {
  /** Created on the first write. */
  readonly folder: string
  /** Size of all entries; the least recently used ones are deleted first. */
  readonly maxBytes: number
  /** A larger response is not stored. */
  readonly maxEntryBytes: number
}

/** Who fetched what. Entries are shared only where all of it is equal. */
export interface PackKey {
  readonly ownerId: string
  /** The credential, if there is one; only its digest is used. */
  readonly credential: string | undefined
  readonly url: string
  /** The request, which names the commits that it wants. */
  readonly body: Buffer
}

/** A response that is being stored. */
export interface PackWrite {
  add(chunk: Buffer): Promise<void>
  /** Makes the entry available. Does nothing for a response that was too large. */
  commit(): Promise<void>
  /** Deletes the incomplete entry. */
  abort(): Promise<void>
}

const staleMs = 3_600_000
const draftSuffix = '.draft'

/**
 * Cache of the responses to first fetches. A request for named commits always has an equivalent response, so that an
 * entry does not expire. Replicas and worker processes may share the folder: entries appear by an atomic rename.
 */
export type PackCache = ReturnType<typeof createPackCache>

export function createPackCache({ folder, maxBytes, maxEntryBytes }: Settings) {
  const pathOf = ({ ownerId, credential, url, body }: PackKey): string => {
    const hash = createHash('sha256')
    for (const part of [ownerId, credential ?? '', url, body]) {
      const digest = createHash('sha256').update(part).digest()
      hash.update(digest)
    }
    return join(folder, hash.digest('hex'))
  }

  /** Deletes the least recently used entries beyond the limit, and drafts that a crash left. */
  async function evict(): Promise<void> {
    const names = await readdir(folder)
    const found = await Promise.all(
      names.map(async name => {
        const path = join(folder, name)
        const facts = await stat(path).catch(() => undefined)
        return facts && { path, bytes: facts.size, usedMs: facts.mtimeMs, isDraft: name.endsWith(draftSuffix) }
      }),
    )
    let total = 0
    for (const { path, bytes, usedMs, isDraft } of found
      .filter(entry => entry !== undefined)
      .sort((a, b) => b.usedMs - a.usedMs)) {
      total += bytes
      const isSurplus = isDraft ? usedMs < Date.now() - staleMs : total > maxBytes
      if (isSurplus) await rm(path, { force: true })
    }
  }

  return {
    /** Returns the stored response; undefined when there is none. */
    async read(key: PackKey): Promise<Readable | undefined> {
      const path = pathOf(key)
      const handle = await open(path).catch(() => undefined)
      if (!handle) return undefined
      const now = new Date()
      await utimes(path, now, now).catch(() => undefined)
      return createReadStream(path, { fd: handle })
    },

    /** Starts to store a response. Rejects when the folder cannot be written. */
    async write(key: PackKey): Promise<PackWrite> {
      const path = pathOf(key)
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const draft = `${path}.${randomBytes(6).toString('hex')}${draftSuffix}`
      let handle: FileHandle | undefined = await open(draft, 'wx', 0o600)
      let bytes = 0
      const close = async () => {
        await handle?.close()
        handle = undefined
      }
      const abort = async () => {
        await close().catch(() => undefined)
        await rm(draft, { force: true }).catch(() => undefined)
      }
      return {
        async add(chunk) {
          bytes += chunk.length
          if (bytes > maxEntryBytes) await abort()
          await handle?.writeFile(chunk).catch(abort)
        },
        async commit() {
          if (!handle) return
          await close()
          await rename(draft, path)
          await evict()
        },
        abort,
      }
    },
  }
}
