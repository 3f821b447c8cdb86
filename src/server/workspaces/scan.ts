import type { BigIntStats, Dirent } from 'node:fs'
import { lstat, opendir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { type Folder, openFolder } from '../sandboxes/beneath.ts'
import type { IgnoreRules } from './ignore.ts'
import type { LeftOut, WorkspaceLimits } from './limits.ts'
import type { FolderEntry, LinkEntry } from './manifest.ts'

/** A file as the file system describes it. */
export interface FoundFile {
  readonly kind: 'file'
  readonly path: string
  readonly mode: number
  readonly size: number
  readonly mtimeMs: number
  readonly stat: string
}

export type Found = FoundFile | FolderEntry | LinkEntry

export interface Scan {
  readonly found: readonly Found[]
  readonly leftOut: readonly LeftOut[]
}

interface Walk {
  readonly rules: IgnoreRules
  readonly limits: WorkspaceLimits
  readonly found: Found[]
  readonly leftOut: LeftOut[]
  /** A file changed after this time may change again without a newer timestamp. */
  readonly settledMs: number
}

const maxDepth = 40
/** Number of entries of a folder that are read concurrently. */
const together = 16
/** Timestamps of a file system may be coarser than the time between two changes. */
const coarseMs = 50

/** Scans a workspace without following links or reading files. */
export async function scanWorkspace(
  root: string,
  { rules, limits }: { readonly rules: IgnoreRules; readonly limits: WorkspaceLimits },
): Promise<Scan> {
  const walk: Walk = { rules, limits, found: [], leftOut: [], settledMs: Date.now() - coarseMs }
  const folder = await openFolder(root)
  try {
    await scanFolder(folder, '', walk)
  } finally {
    await folder.handle.close()
  }
  return { found: walk.found, leftOut: walk.leftOut }
}

async function scanFolder(folder: Folder, prefix: string, walk: Walk): Promise<void> {
  const entries = await entriesOf(folder, prefix, walk)
  for (let at = 0; at < entries.length; at += together) {
    const some = entries.slice(at, at + together)
    const inspected = await Promise.all(some.map(entry => inspect(folder, `${prefix}${entry.name}`, walk)))
    for (const found of inspected) if (found) walk.found.push(found)
  }
  for (const entry of entries) if (entry.isDirectory()) await scanChild(folder, `${prefix}${entry.name}`, walk)
}

/** Sorted by name, so that the same files are left out every time. */
async function entriesOf(folder: Folder, prefix: string, walk: Walk): Promise<Dirent[]> {
  const entries: Dirent[] = []
  for await (const entry of await opendir(folder.path)) {
    const path = `${prefix}${entry.name}`
    if (walk.rules.ignores(path, entry.isDirectory())) continue
    if (entry.name.includes('\ufffd')) walk.leftOut.push({ path, reason: 'name is not UTF-8' })
    else if (walk.found.length + entries.length < walk.limits.files) entries.push(entry)
    else {
      walk.leftOut.push({ path: prefix || '.', reason: `workspace has more than ${walk.limits.files} files` })
      break
    }
  }
  return entries.sort((one, other) => (one.name < other.name ? -1 : 1))
}

async function scanChild(parent: Folder, path: string, walk: Walk): Promise<void> {
  if (path.split('/').length >= maxDepth) {
    walk.leftOut.push({ path, reason: `nested deeper than ${maxDepth} folders` })
    return
  }
  const child = await openFolder(join(parent.path, path.slice(path.lastIndexOf('/') + 1))).catch(error => {
    unreadable(path, error, walk)
  })
  if (!child) return
  try {
    await scanFolder(child, `${path}/`, walk)
  } finally {
    await child.handle.close()
  }
}

async function inspect(folder: Folder, path: string, walk: Walk): Promise<Found | undefined> {
  const place = join(folder.path, path.slice(path.lastIndexOf('/') + 1))
  try {
    const stats = await lstat(place, { bigint: true })
    const mode = Number(stats.mode) & 0o777
    if (stats.isDirectory()) return { kind: 'folder', path, mode }
    if (stats.isSymbolicLink()) return { kind: 'link', path, target: await readlink(place) }
    if (stats.isFile()) return fileOf(path, stats, walk.settledMs)
    walk.leftOut.push({ path, reason: 'not a regular file' })
  } catch (error) {
    unreadable(path, error, walk)
  }
  return undefined
}

export function fileOf(path: string, stats: BigIntStats, settledMs: number): FoundFile {
  const { size, mode, ino, ctimeNs, mtimeNs, ctimeMs, mtimeMs } = stats
  const stat = Number(ctimeMs) < settledMs ? `${ino}.${ctimeNs}.${mtimeNs}` : ''
  return { kind: 'file', path, mode: Number(mode) & 0o777, size: Number(size), mtimeMs: Number(mtimeMs), stat }
}

/** Leaves out a path that cannot be read; one that has vanished is ignored. */
export function unreadable(path: string, error: unknown, { leftOut }: { readonly leftOut: LeftOut[] }): void {
  const { code } = error as NodeJS.ErrnoException
  if (code === undefined) throw error
  if (code === 'ENOENT' || code === 'ELOOP' || code === 'ENOTDIR') return
  const reason = code === 'EACCES' || code === 'EPERM' ? 'permission denied' : `cannot be read (${code})`
  leftOut.push({ path, reason })
}
