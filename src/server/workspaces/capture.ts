import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { beneath } from '../sandboxes/beneath.ts'
import type { Blobs } from './blobs.ts'
import { type IgnoreRules, ignoreFile, ignoreRules, maxIgnoreBytes } from './ignore.ts'
import { inParallel } from './in-parallel.ts'
import { type LeftOut, pieceBytes, type WorkspaceLimits } from './limits.ts'
import type { Entry, FileEntry, Manifest } from './manifest.ts'
import { type FoundFile, fileOf, type Scan, scanWorkspace, unreadable } from './scan.ts'

/** Manifest of a workspace whose content is stored. */
export interface Captured {
  readonly manifest: Manifest
  /** Paths that the manifest does not include. */
  readonly leftOut: readonly LeftOut[]
}

interface Capturing {
  readonly blobs: Pick<Blobs, 'writer'>
  /** Owner of the blobs. */
  readonly owner: string
  readonly limits: WorkspaceLimits
  /** Manifest of the last checkpoint. Files unchanged since then are not read. */
  readonly last: Manifest
}

const readersAtOnce = 4
const mebibyte = 1024 * 1024

/** Scans the workspace in the folder `root` and stores the content of changed files. */
export async function captureWorkspace(root: string, { blobs, owner, limits, last }: Capturing): Promise<Captured> {
  const rules = await rulesIn(root)
  const scan = await scanWorkspace(root, { rules, limits })
  const leftOut = [...scan.leftOut]
  if (rules.problem !== undefined) leftOut.push({ path: ignoreFile, reason: rules.problem })
  const fitting = withinBounds(scan, limits, leftOut)
  const writer = blobs.writer(owner)
  const read = new Map<string, FileEntry>()
  await inParallel(
    fitting.filter(file => unchanged(file, last) === undefined),
    readersAtOnce,
    async file => {
      const entry = await readFile(root, file, writer.add).catch(error => unreadable(file.path, error, { leftOut }))
      if (entry) read.set(file.path, entry)
    },
  )
  await writer.end()
  const files = new Set<unknown>(fitting)
  const entries = scan.found.flatMap((found): Entry[] => {
    if (found.kind !== 'file') return [asBefore(found, last)]
    const entry = files.has(found) ? (unchanged(found, last) ?? read.get(found.path)) : undefined
    return entry ? [entry] : []
  })
  leftOut.sort((one, other) => (one.path < other.path ? -1 : 1))
  return { manifest: new Map(entries.map(entry => [entry.path, entry])), leftOut }
}

/** Returns the current ignore rules of the workspace. */
async function rulesIn(root: string): Promise<IgnoreRules> {
  const text = await opened(root, ignoreFile, async handle => {
    const { bytesRead, buffer } = await handle.read({ buffer: Buffer.alloc(maxIgnoreBytes) })
    return buffer.toString('utf8', 0, bytesRead)
  }).catch(() => '')
  return ignoreRules(text)
}

/** Returns the files within the limits: files over the file limit are dropped, then the largest. */
function withinBounds({ found }: Scan, limits: WorkspaceLimits, leftOut: LeftOut[]): FoundFile[] {
  const files = found.filter(entry => entry.kind === 'file')
  const bySize = files.toSorted((one, other) => one.size - other.size || (one.path < other.path ? -1 : 1))
  let bytes = 0
  return bySize.filter(({ path, size }) => {
    if (size > limits.fileBytes) {
      leftOut.push({ path, reason: `larger than the file limit of ${inMebibytes(limits.fileBytes)}` })
      return false
    }
    const fits = bytes + size <= limits.bytes
    if (fits) bytes += size
    else leftOut.push({ path, reason: `beyond the workspace limit of ${inMebibytes(limits.bytes)}` })
    return fits
  })
}

const inMebibytes = (bytes: number): string => `${Math.round((bytes / mebibyte) * 100) / 100} MiB`

function unchanged(file: FoundFile, last: Manifest): FileEntry | undefined {
  const previous = last.get(file.path)
  return previous?.kind === 'file' && file.stat !== '' && previous.stat === file.stat && previous.size === file.size
    ? previous
    : undefined
}

/** Returns the previous entry object when it is unchanged, so that it compares by identity. */
function asBefore(found: Entry, last: Manifest): Entry {
  const previous = last.get(found.path)
  if (previous?.kind === 'folder' && found.kind === 'folder' && previous.mode === found.mode) return previous
  if (previous?.kind === 'link' && found.kind === 'link' && previous.target === found.target) return previous
  return found
}

type AddPiece = (piece: Buffer) => Promise<string>

/** Reads a file in pieces. A file that changes meanwhile is read again for the next checkpoint. */
async function readFile(root: string, found: FoundFile, add: AddPiece): Promise<FileEntry> {
  return opened(root, found.path, async handle => {
    const before = await handle.stat({ bigint: true })
    if (!before.isFile()) throw Object.assign(new Error('not a file'), { code: 'ENOENT' })
    const whole = createHash('sha256')
    const pieces: string[] = []
    let size = 0
    // A program may still write: bytes beyond the scanned size belong to the next checkpoint.
    const next = () => readPiece(handle, size, Math.min(pieceBytes, found.size - size))
    for (let piece = await next(); piece.length > 0; piece = await next()) {
      size += piece.length
      whole.update(piece)
      pieces.push(await add(piece))
    }
    const after = await handle.stat({ bigint: true })
    const isStill = after.ctimeNs === before.ctimeNs && Number(after.size) === size && found.stat !== ''
    const file = fileOf(found.path, after, isStill ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY)
    return { ...file, size, hash: whole.digest('hex'), pieces }
  })
}

async function readPiece(handle: FileHandle, position: number, maxBytes: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(maxBytes)
  let filled = 0
  while (filled < maxBytes) {
    const { bytesRead } = await handle.read(buffer, filled, maxBytes - filled, position + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}

function opened<T>(root: string, path: string, use: (handle: FileHandle) => Promise<T>): Promise<T> {
  return beneath(root, path.split('/'), {
    async use({ folder, name = '' }) {
      const handle = await open(
        join(folder.path, name),
        constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
      )
      try {
        return await use(handle)
      } finally {
        await handle.close()
      }
    },
  })
}
