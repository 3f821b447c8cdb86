import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { zstdCompress, zstdDecompress } from 'node:zlib'
import type { BlobStore, StoredPiece } from './blob-store.ts'
import { pieceBytes } from './limits.ts'

const compressed = promisify(zstdCompress)
const decompressed = promisify(zstdDecompress)

/** What is gathered before it is sent. */
const batchBytes = 4 * 1024 * 1024
const batchPieces = 500

export const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** The pieces of files, compressed, once an owner. */
export type Blobs = ReturnType<typeof createBlobs>

export function createBlobs(store: Pick<BlobStore, 'keep' | 'insert' | 'read'>) {
  async function write(owner: string, pieces: ReadonlyMap<string, Buffer>): Promise<void> {
    const known = await store.keep(owner, [...pieces.keys()])
    const missing = [...pieces].filter(([hash]) => !known.has(hash))
    const stored: StoredPiece[] = []
    for (const [hash, bytes] of missing) stored.push(await storedOf(hash, bytes))
    if (stored.length > 0) await store.insert(owner, stored)
  }

  return {
    /** Stores pieces in batches, those that are there already only by their name. */
    writer(owner: string) {
      let batch = new Map<string, Buffer>()
      let bytes = 0
      let last: Promise<void> = Promise.resolve()
      const send = (): Promise<void> => {
        const full = batch
        batch = new Map()
        bytes = 0
        last = last.then(() => (full.size === 0 ? undefined : write(owner, full)))
        return last
      }
      return {
        /** The hash of the piece. Waits while a batch is sent. */
        async add(piece: Buffer): Promise<string> {
          const hash = hashOf(piece)
          if (!batch.has(hash)) bytes += piece.length
          batch.set(hash, piece)
          if (bytes >= batchBytes || batch.size >= batchPieces) await send()
          return hash
        },
        /** Resolves when all that was added is stored. */
        end: send,
      }
    },

    /** One piece. Rejects when it is not there, or is not what its name says. */
    async read(owner: string, hash: string): Promise<Buffer> {
      const found = await store.read(owner, hash)
      if (!found) throw new Error(`piece ${hash} of a workspace is missing`)
      const bytes =
        found.encoding === 'raw' ? found.data : await decompressed(found.data, { maxOutputLength: pieceBytes })
      if (hashOf(bytes) !== hash) throw new Error(`piece ${hash} of a workspace is damaged`)
      return bytes
    },
  }
}

async function storedOf(hash: string, piece: Buffer): Promise<StoredPiece> {
  const data = await compressed(piece)
  const isSmaller = data.length < piece.length
  return { hash, bytes: piece.length, encoding: isSmaller ? 'zstd' : 'raw', data: isSmaller ? data : piece }
}
