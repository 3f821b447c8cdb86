import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { beneath } from '../sandboxes/beneath.ts'
import type { Blobs } from './blobs.ts'
import { type IgnoreRules, ignoreFile, ignoreRules, mostIgnoreBytes } from './ignore.ts'
import { type LeftOut, pieceBytes, type WorkspaceLimits } from './limits.ts'
import type { Entry, FileEntry, Manifest } from './manifest.ts'
import { type FoundFile, fileOf, type Scan, scanWorkspace, unreadable } from './scan.ts'
import { sideBySide } from './side-by-side.ts'

/** What a workspace holds now; its content is stored. */
export interface Captured {
  readonly manifest: Manifest
  /** What it does not hold, by path. */
  readonly leftOut: readonly LeftOut[]
}

interface Capturing {
  readonly blobs: Pick<Blobs, 'writer'>
  /** Whose blobs they are. */
  readonly owner: string
  readonly limits: WorkspaceLimits
  /** What the last checkpoint holds: files that have not changed since are not read. */
  readonly last: Manifest
}

const readersAtOnce = 4
const mebibyte = 1024 * 1024

/** Looks at the workspace in the folder `root`, and stores the content of files that have changed. */
export async function captureWorkspace(root: string, { blobs, owner, limits, last }: Capturing): Promise<Captured> {
  const rules = await rulesIn(root)
  const scan = await scanWorkspace(root, { rules, limits })
  const leftOut = [...scan.leftOut]
  if (rules.problem !== undefined) leftOut.push({ path: ignoreFile, reason: rules.problem })
  const fitting = withinBounds(scan, limits, leftOut)
  const writer = blobs.writer(owner)
  const read = new Map<string, FileEntry>()
  await sideBySide(
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

/** The rules that hold for a workspace now. */
async function rulesIn(root: string): Promise<IgnoreRules> {
  const text = await opened(root, ignoreFile, async handle => {
    const { bytesRead, buffer } = await handle.read({ buffer: Buffer.alloc(mostIgnoreBytes) })
    return buffer.toString('utf8', 0, bytesRead)
  }).catch(() => '')
  return ignoreRules(text)
}

/** The files that fit: none that is too large, and of all the smallest. */
function withinBounds({ found }: Scan, limits: WorkspaceLimits, leftOut: LeftOut[]): FoundFile[] {
  const files = found.filter(entry => entry.kind === 'file')
  const bySize = files.toSorted((one, other) => one.size - other.size || (one.path < other.path ? -1 : 1))
  let bytes = 0
  return bySize.filter(({ path, size }) => {
    if (size > limits.fileBytes) {
      leftOut.push({ path, reason: `it is larger than ${inMebibytes(limits.fileBytes)}, the limit of a file` })
      return false
    }
    const fits = bytes + size <= limits.bytes
    if (fits) bytes += size
    else
      leftOut.push({ path, reason: `all files are larger than ${inMebibytes(limits.bytes)}, the limit of a workspace` })
    return fits
  })
}

const inMebibytes = (bytes: number): string => `${Math.round((bytes / mebibyte) * 100) / 100} MiB`

function unchanged(file: FoundFile, last: Manifest): FileEntry | undefined {
  const known = last.get(file.path)
  return known?.kind === 'file' && file.stat !== '' && known.stat === file.stat && known.size === file.size
    ? known
    : undefined
}

/** The very entry of before where nothing has changed. */
function asBefore(found: Entry, last: Manifest): Entry {
  const known = last.get(found.path)
  if (known?.kind === 'folder' && found.kind === 'folder' && known.mode === found.mode) return known
  if (known?.kind === 'link' && found.kind === 'link' && known.target === found.target) return known
  return found
}

type AddPiece = (piece: Buffer) => Promise<string>

/** Reads a file piece by piece. One that changes meanwhile is read again for the next checkpoint. */
async function readFile(root: string, found: FoundFile, add: AddPiece): Promise<FileEntry> {
  return opened(root, found.path, async handle => {
    const before = await handle.stat({ bigint: true })
    if (!before.isFile()) throw Object.assign(new Error('not a file'), { code: 'ENOENT' })
    const whole = createHash('sha256')
    const pieces: string[] = []
    let size = 0
    // A program may go on writing: what is beyond the size that counted is for the next checkpoint.
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

async function readPiece(handle: FileHandle, position: number, most: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(most)
  let filled = 0
  while (filled < most) {
    const { bytesRead } = await handle.read(buffer, filled, most - filled, position + filled)
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
