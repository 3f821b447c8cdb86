import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { zstdCompress, zstdDecompress } from 'node:zlib'
import type { BlobStore, StoredPiece } from './blob-store.ts'
import { hashOf, pieceBytes } from './limits.ts'
import type { Objects } from './objects.ts'
import { sideBySide } from './side-by-side.ts'

const compressed = promisify(zstdCompress)
const decompressed = promisify(zstdDecompress)

/** What is gathered before it is sent. */
const batchBytes = 4 * 1024 * 1024
const batchPieces = 500
const putsAtOnce = 8

const keyOf = (prefix: string, hash: string): string => `${prefix}${hash.slice(0, 2)}/${hash}-${randomUUID()}`

/** The pieces of files, compressed, once an owner. */
export type Blobs = ReturnType<typeof createBlobs>

interface Bucket {
  readonly objects: Objects
  /** False: it is only read. */
  readonly isWritten: boolean
}

export function createBlobs(store: Pick<BlobStore, 'keep' | 'insert' | 'read' | 'announce'>, bucket?: Bucket) {
  async function write(owner: string, pieces: ReadonlyMap<string, Buffer>): Promise<void> {
    const known = await store.keep(owner, [...pieces.keys()])
    const missing = [...pieces].filter(([hash]) => !known.has(hash))
    const stored: StoredPiece[] = []
    for (const [hash, bytes] of missing) stored.push(await storedOf(hash, bytes))
    if (stored.length > 0) await store.insert(owner, bucket?.isWritten ? await moved(bucket.objects, stored) : stored)
  }

  /** Puts pieces into the object store. An object is used once, so that none is deleted that has just been written. */
  async function moved(to: Objects, pieces: readonly StoredPiece[]): Promise<StoredPiece[]> {
    const keyed = pieces.map(piece => ({ piece, key: keyOf(to.prefix, piece.hash) }))
    await store.announce(keyed.map(({ key }) => key))
    await sideBySide(keyed, putsAtOnce, ({ piece, key }) => to.put(key, piece.data ?? Buffer.alloc(0)))
    return keyed.map(({ piece, key }) => ({ ...piece, data: null, objectKey: key }))
  }

  async function dataOf({ data, objectKey }: StoredPiece): Promise<Buffer> {
    if (data) return data
    if (!bucket) throw new Error('a piece of a workspace is in an object store, and workspaces.s3 is not configured')
    return bucket.objects.get(objectKey ?? '')
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
      const data = await dataOf(found)
      const bytes = found.encoding === 'raw' ? data : await decompressed(data, { maxOutputLength: pieceBytes })
      if (hashOf(bytes) !== hash) throw new Error(`piece ${hash} of a workspace is damaged`)
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
