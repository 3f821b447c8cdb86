import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { zstdCompress, zstdDecompress } from 'node:zlib'
import type { BlobStore, StoredPiece } from './blob-store.ts'
import { inParallel } from './in-parallel.ts'
import { hashOf, pieceBytes } from './limits.ts'
import type { Objects } from './objects.ts'

const compressed = promisify(zstdCompress)
const decompressed = promisify(zstdDecompress)

/** Limits of a batch before it is written. */
const batchBytes = 4 * 1024 * 1024
const batchPieces = 500
const putsAtOnce = 8

const keyOf = (prefix: string, hash: string): string => `${prefix}${hash.slice(0, 2)}/${hash}-${randomUUID()}`

/** The pieces of files, compressed, stored once per owner. */
export type Blobs = ReturnType<typeof createBlobs>

interface Bucket {
  readonly objects: Objects
  /** False when the bucket is only read. */
  readonly isWritten: boolean
}

export function createBlobs(store: Pick<BlobStore, 'retain' | 'insert' | 'read' | 'announce'>, bucket?: Bucket) {
  async function write(owner: string, pieces: ReadonlyMap<string, Buffer>): Promise<void> {
    const retained = await store.retain(owner, [...pieces.keys()])
    const missing = [...pieces].filter(([hash]) => !retained.has(hash))
    const stored: StoredPiece[] = []
    for (const [hash, bytes] of missing) stored.push(await storedOf(hash, bytes))
    if (stored.length > 0) await store.insert(owner, bucket?.isWritten ? await moved(bucket.objects, stored) : stored)
  }

  /** Writes pieces to the object store. Every write uses a new key, so a concurrent deletion cannot remove it. */
  async function moved(to: Objects, pieces: readonly StoredPiece[]): Promise<StoredPiece[]> {
    const keyed = pieces.map(piece => ({ piece, key: keyOf(to.prefix, piece.hash) }))
    await store.announce(keyed.map(({ key }) => key))
    await inParallel(keyed, putsAtOnce, ({ piece, key }) => to.put(key, piece.data ?? Buffer.alloc(0)))
    return keyed.map(({ piece, key }) => ({ ...piece, data: null, objectKey: key }))
  }

  async function dataOf({ data, objectKey }: StoredPiece): Promise<Buffer> {
    if (data) return data
    if (!bucket) throw new Error('a workspace piece is in an object store, but workspaces.s3 is not configured')
    return bucket.objects.get(objectKey ?? '')
  }

  return {
    /** Stores pieces in batches. A piece that is already stored is only referenced. */
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
        /** Adds a piece and returns its hash. Waits while a batch is written. */
        async add(piece: Buffer): Promise<string> {
          const hash = hashOf(piece)
          if (!batch.has(hash)) bytes += piece.length
          batch.set(hash, piece)
          if (bytes >= batchBytes || batch.size >= batchPieces) await send()
          return hash
        },
        /** Resolves when all added pieces are stored. */
        end: send,
      }
    },

    /** Returns a piece. Rejects when it is missing or does not match its hash. */
    async read(owner: string, hash: string): Promise<Buffer> {
      const found = await store.read(owner, hash)
      if (!found) throw new Error(`workspace piece ${hash} is missing`)
      const data = await dataOf(found)
      const bytes = found.encoding === 'raw' ? data : await decompressed(data, { maxOutputLength: pieceBytes })
      if (hashOf(bytes) !== hash) throw new Error(`workspace piece ${hash} is damaged`)
      return bytes
    },
  }
}

async function storedOf(hash: string, piece: Buffer): Promise<StoredPiece> {
  const data = await compressed(piece)
  const isSmaller = data.length < piece.length
  const encoding = isSmaller ? 'zstd' : 'raw'
  return { hash, bytes: piece.length, encoding, data: isSmaller ? data : piece, objectKey: null }
}
