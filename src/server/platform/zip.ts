import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { crc32 } from 'node:zlib'
import { type Entry, fromBufferPromise, getFileNameLowLevel, type ZipFile } from 'yauzl'
import { ZipFile as ZipWriter } from 'yazl'
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

const fileTypes = { mask: 0o170000, regular: 0o100000, folder: 0o040000 } as const

/** True for bytes that start like a zip archive with at least one file. */
export const isZip = (bytes: Buffer): boolean => bytes.length >= 4 && bytes.readUInt32LE(0) === 0x04034b50

/**
 * Unpacks an archive in memory. Throws `invalid_request` for a malformed archive, one with links, encryption or an unknown
 * compression, and for one that exceeds a limit, whatever sizes it states. The paths can have any form.
 */
export async function unzip(bytes: Buffer, limits: Limits): Promise<ZipEntry[]> {
  try {
    // Without `decodeStrings` the library does not reject paths, which the caller checks.
    const archive = await fromBufferPromise(bytes, { decodeStrings: false })
    return await filesIn(archive, limits)
  } catch (cause) {
    if (cause instanceof AppError) throw cause
    throw new AppError('invalid_request', 'zip: the archive is malformed', { cause })
  }
}

async function filesIn(archive: ZipFile, { maxFiles, maxBytes }: Limits): Promise<ZipEntry[]> {
  const files: ZipEntry[] = []
  let left = maxBytes
  for await (const entry of archive.eachEntry()) {
    const path = pathOf(entry)
    checkType(path, entry)
    if (path.endsWith('/')) continue
    if (files.length === maxFiles) throw invalid(`zip: more than ${maxFiles} files`)
    if (entry.uncompressedSize > left) throw invalid(`zip: files exceed ${maxBytes} bytes when unpacked`)
    const content = await contentOf(path, entry, archive)
    left -= content.length
    files.push({ path, content })
  }
  return files
}

const pathOf = ({ generalPurposeBitFlag, fileNameRaw, extraFields }: Entry): string =>
  getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, true)

/** A link could point out of the folder; archives of some systems state no type. */
function checkType(path: string, entry: Entry): void {
  const type = (entry.externalFileAttributes >>> 16) & fileTypes.mask
  if (type !== 0 && type !== fileTypes.regular && type !== fileTypes.folder)
    throw invalid(`zip: ${quoted(path)} is not a regular file`)
  if (entry.isEncrypted()) throw invalid(`zip: ${quoted(path)} is encrypted`)
  if (!entry.canDecodeFileData()) throw invalid(`zip: ${quoted(path)} has an unknown compression`)
}

async function contentOf(path: string, entry: Entry, archive: ZipFile): Promise<Buffer> {
  try {
    // The stream fails as soon as it exceeds the stated size.
    const stream: Readable = await archive.openReadStreamPromise(entry)
    const content = await buffer(stream)
    if (crc32(content) === entry.crc32) return content
  } catch (cause) {
    throw new AppError('invalid_request', `zip: ${quoted(path)} is damaged`, { cause })
  }
  throw invalid(`zip: ${quoted(path)} is damaged`)
}

/** Returns a zip archive of the files, all with the same time. The paths must be relative, with `/` between folders. */
export async function zipOf(files: readonly ZipEntry[], mtime: Date): Promise<Buffer> {
  const archive = new ZipWriter()
  for (const { path, content } of files) archive.addBuffer(content, path, { mtime })
  archive.end()
  return buffer(archive.outputStream)
}

const quoted = (path: string): string => JSON.stringify(path.slice(0, 200))
