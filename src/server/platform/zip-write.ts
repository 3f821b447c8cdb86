import { promisify } from 'node:util'
import { crc32, deflateRaw } from 'node:zlib'
import type { ZipEntry } from './zip-read.ts'

const deflated = promisify(deflateRaw)

const version = 20
/** Names are in UTF-8. */
const utf8 = 0x0800
const deflate = 8
/** A regular file that its owner may write, in the format of Unix. */
const unix = 3 << 8
const mode = 0o100644 << 16

/** Returns a zip archive of the files, all with the same time. */
export async function zipOf(entries: readonly ZipEntry[], time: Date): Promise<Buffer> {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0
  for (const { path, content } of entries) {
    const name = Buffer.from(path)
    const packed = await deflated(content)
    const shared = sharedFields({ content, packed, name, time })
    const local = Buffer.concat([fields([0x04034b50, 4]), shared, name, packed])
    const listed = [fields([0x02014b50, 4], [unix | version, 2]), shared]
    directory.push(...listed, fields([0, 2], [0, 2], [0, 2], [mode >>> 0, 4], [at, 4]), name)
    parts.push(local)
    at += local.length
  }
  const listing = Buffer.concat(directory)
  const { length } = entries
  const end = fields([0x06054b50, 4], [0, 4], [length, 2], [length, 2], [listing.length, 4], [at, 4], [0, 2])
  return Buffer.concat([...parts, listing, end])
}

interface Packed extends Pick<ZipEntry, 'content'> {
  readonly packed: Buffer
  readonly name: Buffer
  readonly time: Date
}

/** The fields that a file has before its content and in the directory. */
function sharedFields({ content, packed, name, time }: Packed): Buffer {
  const day = ((time.getUTCFullYear() - 1980) << 9) | ((time.getUTCMonth() + 1) << 5) | time.getUTCDate()
  const clock = (time.getUTCHours() << 11) | (time.getUTCMinutes() << 5) | (time.getUTCSeconds() >> 1)
  return fields(
    [version, 2],
    [utf8, 2],
    [deflate, 2],
    [clock, 2],
    [day, 2],
    [crc32(content), 4],
    [packed.length, 4],
    [content.length, 4],
    [name.length, 2],
    [0, 2],
  )
}

/** Returns little-endian numbers, each with its length in bytes. */
function fields(...numbers: readonly (readonly [value: number, bytes: number])[]): Buffer {
  const buffer = Buffer.alloc(numbers.reduce((sum, [, bytes]) => sum + bytes, 0))
  numbers.reduce((at, [value, bytes]) => buffer.writeUIntLE(value, at, bytes), 0)
  return buffer
}
