import { createHash } from 'node:crypto'
import { AppError } from '../platform/errors.ts'
import type { Blobs } from './blobs.ts'
import { pieceBytes } from './limits.ts'
import type { FileEntry } from './manifest.ts'

/** Size, SHA-256 and pieces of a stored file. */
export type StoredContent = Pick<FileEntry, 'size' | 'hash' | 'pieces'>

/** Stores a body in pieces. Throws `payload_too_large`. */
export async function storeContent(
  writer: ReturnType<Blobs['writer']>,
  body: AsyncIterable<Buffer>,
  maxBytes: number,
): Promise<StoredContent> {
  const whole = createHash('sha256')
  const pieces: string[] = []
  let size = 0
  let gathered: Buffer[] = []
  let gatheredBytes = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxBytes) throw new AppError('payload_too_large', `file exceeds ${maxBytes} bytes`)
    whole.update(chunk)
    gathered.push(chunk)
    gatheredBytes += chunk.length
    while (gatheredBytes >= pieceBytes) {
      const all = Buffer.concat(gathered)
      pieces.push(await writer.add(all.subarray(0, pieceBytes)))
      gathered = [all.subarray(pieceBytes)]
      gatheredBytes -= pieceBytes
    }
  }
  if (gatheredBytes > 0) pieces.push(await writer.add(Buffer.concat(gathered)))
  await writer.end()
  return { size, hash: whole.digest('hex'), pieces }
}
