import { promisify } from 'node:util'
import { crc32, inflateRaw } from 'node:zlib'
import { AppError, invalid } from './errors.ts'

/** A file of a zip archive. */
export interface ZipEntry {
  readonly path: string
  readonly content: Buffer
}

interface Limits {
  readonly maxFiles: number
  /** Of all files together, unpacked. */
  readonly maxBytes: number
}

/** What the directory of an archive states about one of its files. */
interface Listed {
  readonly path: string
  readonly flags: number
  readonly method: number
  readonly crc: number
  readonly packed: number
  readonly size: number
  readonly at: number
}

const inflated = promisify(inflateRaw)

const endLength = 22
const maxComment = 65_535
const signatures = { end: 0x06054b50, listed: 0x02014b50, local: 0x04034b50 } as const
const fileTypes = { mask: 0o170000, regular: 0o100000, folder: 0o040000 } as const

/** True for bytes that start like a zip archive with at least one file. */
export const isZip = (bytes: Buffer): boolean => bytes.length >= 4 && bytes.readUInt32LE(0) === signatures.local

/**
 * Unpacks an archive in memory. Throws `invalid_request` for a malformed archive, one with links, encryption or an unknown
 * compression, and for one that exceeds a limit, whatever sizes it states.
 */
export async function unzip(bytes: Buffer, { maxFiles, maxBytes }: Limits): Promise<ZipEntry[]> {
  const entries: ZipEntry[] = []
  let left = maxBytes
  for (const listed of listedIn(bytes, maxFiles)) {
    if (listed.size > left) throw invalid(`zip: files exceed ${maxBytes} bytes when unpacked`)
    const content = await contentOf(bytes, listed)
    left -= content.length
    entries.push({ path: listed.path, content })
  }
  return entries
}

function listedIn(bytes: Buffer, maxFiles: number): Listed[] {
  const end = endIn(bytes)
  const count = bytes.readUInt16LE(end + 10)
  let at = bytes.readUInt32LE(end + 16)
  const found: Listed[] = []
  for (let index = 0; index < count; index++) {
    if (at + 46 > end || bytes.readUInt32LE(at) !== signatures.listed) throw malformed()
    const nameLength = bytes.readUInt16LE(at + 28)
    const next = at + 46 + nameLength + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32)
    if (next > end) throw malformed()
    const path = bytes.toString('utf8', at + 46, at + 46 + nameLength)
    const mode = bytes.readUInt32LE(at + 38) >>> 16
    checkMode(path, mode & fileTypes.mask)
    if (!path.endsWith('/')) found.push({ path, ...fieldsAt(bytes, at) })
    if (found.length > maxFiles) throw invalid(`zip: more than ${maxFiles} files`)
    at = next
  }
  return found
}

const fieldsAt = (bytes: Buffer, at: number): Omit<Listed, 'path'> => ({
  flags: bytes.readUInt16LE(at + 8),
  method: bytes.readUInt16LE(at + 10),
  crc: bytes.readUInt32LE(at + 16),
  packed: bytes.readUInt32LE(at + 20),
  size: bytes.readUInt32LE(at + 24),
  at: bytes.readUInt32LE(at + 42),
})

/** Returns the place of the end record, which a comment may follow. */
function endIn(bytes: Buffer): number {
  const first = Math.max(0, bytes.length - endLength - maxComment)
  for (let at = bytes.length - endLength; at >= first; at--) {
    if (bytes.readUInt32LE(at) === signatures.end) return at
  }
  throw malformed()
}

/** A link could point out of the folder; archives of some systems state no type. */
function checkMode(path: string, type: number): void {
  if (type !== 0 && type !== fileTypes.regular && type !== fileTypes.folder)
    throw invalid(`zip: ${quoted(path)} is not a regular file`)
}

async function contentOf(bytes: Buffer, { path, flags, method, crc, packed, size, at }: Listed): Promise<Buffer> {
  if (flags & 1) throw invalid(`zip: ${quoted(path)} is encrypted`)
  if (method !== 0 && method !== 8) throw invalid(`zip: ${quoted(path)} has an unknown compression`)
  if (at + 30 > bytes.length || bytes.readUInt32LE(at) !== signatures.local) throw malformed()
  const start = at + 30 + bytes.readUInt16LE(at + 26) + bytes.readUInt16LE(at + 28)
  if (start + packed > bytes.length) throw malformed()
  const stored = bytes.subarray(start, start + packed)
  const content = method === 0 ? stored : await unpacked(path, stored, size)
  if (content.length !== size || crc32(content) !== crc) throw invalid(`zip: ${quoted(path)} is damaged`)
  return content
}

async function unpacked(path: string, stored: Buffer, size: number): Promise<Buffer> {
  try {
    return await inflated(stored, { maxOutputLength: Math.max(size, 1) })
  } catch (cause) {
    throw new AppError('invalid_request', `zip: ${quoted(path)} is damaged`, { cause })
  }
}

const quoted = (path: string): string => JSON.stringify(path.slice(0, 200))

const malformed = (): AppError => invalid('zip: the archive is malformed')
