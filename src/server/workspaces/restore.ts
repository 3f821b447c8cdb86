import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, lchown, lstat, open, rename, rm, rmdir, symlink, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { beneath, makeFolderAt, openFolder, type Place } from '../sandboxes/beneath.ts'
import type { Blobs } from './blobs.ts'
import { ignoreFile, ignoreRules, maxIgnoreBytes } from './ignore.ts'
import { inParallel } from './in-parallel.ts'
import type { LeftOut } from './limits.ts'
import type { Entry, FileEntry, FolderEntry, LinkEntry, Manifest } from './manifest.ts'
import { type Found, fileOf, scanWorkspace } from './scan.ts'

interface Restoring {
  readonly blobs: Pick<Blobs, 'read'>
  readonly owner: string
  /** Paths that the checkpoint does not include; they stay. */
  readonly leftOut: readonly LeftOut[]
}

/** Result of a restore. */
export interface Restored {
  /** The manifest with the file states of this machine. */
  readonly manifest: Manifest
  readonly files: number
  readonly bytes: number
}

type Owner = { readonly uid: number; readonly gid: number } | undefined

const filesAtOnce = 4
const noLimits = { fileBytes: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY, files: 1_000_000 }

/**
 * Makes the workspace in the folder `root` match `manifest`. Files outside of checkpoints stay unless they are in the
 * way. The caller must prevent concurrent writes.
 */
export async function restoreWorkspace(root: string, manifest: Manifest, restoring: Restoring): Promise<Restored> {
  const owner = await ownerOf(root)
  const rules = ignoreRules(await ignoreTextOf(manifest, restoring))
  const { found } = await scanWorkspace(root, { rules, limits: noLimits })
  const there = new Map(found.map(entry => [entry.path, entry]))
  await removeOthers(root, manifest, { there, isLeftOut: leftOutFilter(restoring.leftOut) })
  const entries = [...manifest.values()].sort((one, other) => (one.path < other.path ? -1 : 1))
  for (const entry of entries) if (entry.kind === 'folder') await makeFolder(root, entry, owner)
  const missing = entries.filter(entry => entry.kind === 'file').filter(entry => !isThere(entry, there.get(entry.path)))
  const written = new Map<string, Entry>()
  await inParallel(missing, filesAtOnce, async entry => {
    written.set(entry.path, await writeFile(root, entry, { ...restoring, fileOwner: owner }))
  })
  for (const entry of entries) {
    if (entry.kind === 'link' && !there.has(entry.path)) await makeLink(root, entry, owner)
  }
  // Last, because entries cannot be created in a folder without write permission.
  for (const entry of entries.toReversed()) if (entry.kind === 'folder') await setMode(root, entry)
  return {
    manifest: new Map(entries.map(entry => [entry.path, written.get(entry.path) ?? entry])),
    files: missing.length,
    bytes: missing.reduce((sum, { size }) => sum + size, 0),
  }
}

/** Returns the owner of the workspace if files that we create would have another owner. */
async function ownerOf(root: string): Promise<Owner> {
  const { uid, gid } = await lstat(root)
  return process.getuid?.() === 0 && uid !== 0 ? { uid, gid } : undefined
}

async function ignoreTextOf(manifest: Manifest, { blobs, owner }: Pick<Restoring, 'blobs' | 'owner'>): Promise<string> {
  const entry = manifest.get(ignoreFile)
  const [first] = entry?.kind === 'file' ? entry.pieces : []
  return first === undefined ? '' : (await blobs.read(owner, first)).toString('utf8', 0, maxIgnoreBytes)
}

const isThere = (entry: FileEntry, found: Found | undefined): boolean =>
  found?.kind === 'file' && entry.stat !== '' && entry.stat === found.stat && entry.size === found.size

interface Others {
  readonly there: Map<string, Found>
  readonly isLeftOut: (path: string) => boolean
}

/** A left-out path with a trailing slash is a folder that was scanned only partly; a dot is the whole workspace. */
function leftOutFilter(leftOut: readonly LeftOut[]): Others['isLeftOut'] {
  const paths = new Set(leftOut.map(({ path }) => path))
  const folders = [...paths].filter(path => path.endsWith('/'))
  return path => paths.has('.') || paths.has(path) || folders.some(folder => path.startsWith(folder))
}

/** Removes entries that the manifest lacks or has with another kind, the deepest first. */
async function removeOthers(root: string, manifest: Manifest, { there, isLeftOut }: Others): Promise<void> {
  for (const [path, found] of [...there].toSorted(([one], [other]) => (one < other ? 1 : -1))) {
    const wanted = manifest.get(path)
    const stays = wanted?.kind === found.kind && (found.kind !== 'link' || isLinkTo(wanted, found))
    if (stays || (wanted === undefined && isLeftOut(path))) continue
    there.delete(path)
    await placed(root, path, async ({ folder, name = '' }) => {
      const target = join(folder.path, name)
      if (found.kind !== 'folder') await unlink(target)
      else if (wanted) await rm(target, { recursive: true, force: true })
      else await rmdir(target).catch(ignoreNotEmpty)
    })
  }
}

const isLinkTo = (wanted: Entry, { target }: LinkEntry): boolean => wanted.kind === 'link' && wanted.target === target

/** Keeps a folder that still has files outside of checkpoints. */
function ignoreNotEmpty(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
}

const makeFolder = (root: string, { path }: FolderEntry, owner: Owner): Promise<void> =>
  placed(root, path, async ({ folder, name = '' }) => {
    const target = join(folder.path, name)
    await makeFolderAt(target, owner)
    await chmodFolder(target, 0o700)
  })

const setMode = (root: string, { path, mode }: FolderEntry): Promise<void> =>
  placed(root, path, async ({ folder, name = '' }) => {
    await chmodFolder(join(folder.path, name), mode)
  })

/**
 * Never follows a link. A folder that the service cannot open stays unchanged: no checkpoint contains files below it.
 */
async function chmodFolder(path: string, mode: number): Promise<void> {
  const made = await openFolder(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EACCES') throw error
  })
  await made?.handle.chmod(mode).finally(() => made.handle.close())
}

const makeLink = (root: string, { path, target }: LinkEntry, owner: Owner): Promise<void> =>
  placed(root, path, async ({ folder, name = '' }) => {
    const place = join(folder.path, name)
    await symlink(target, place)
    if (owner) await lchown(place, owner.uid, owner.gid)
  })

interface Writing extends Restoring {
  readonly fileOwner: Owner
}

/** Writes a complete new file and renames it over the old one. */
function writeFile(root: string, entry: FileEntry, writing: Writing): Promise<FileEntry> {
  return placed(root, entry.path, async ({ folder, name = '' }) => {
    const draft = join(folder.path, `.draft-${randomBytes(8).toString('hex')}`)
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
    const handle = await open(draft, flags, 0o600)
    try {
      await fill(handle, entry, writing).finally(() => handle.close())
      await rename(draft, join(folder.path, name))
    } catch (error) {
      await unlink(draft).catch(() => undefined)
      throw error
    }
    const stats = await lstat(join(folder.path, name), { bigint: true })
    return { ...entry, stat: fileOf(entry.path, stats, Number.POSITIVE_INFINITY).stat }
  })
}

async function fill(handle: FileHandle, entry: FileEntry, { blobs, owner, fileOwner }: Writing): Promise<void> {
  for (const hash of entry.pieces) await handle.writeFile(await blobs.read(owner, hash))
  if (fileOwner) await handle.chown(fileOwner.uid, fileOwner.gid)
  await handle.chmod(entry.mode)
  await handle.utimes(entry.mtimeMs / 1_000, entry.mtimeMs / 1_000)
}

/** Opens the parent folder of a manifest path, which contains no links at this point. */
const placed = <T>(root: string, path: string, use: (place: Place) => Promise<T>): Promise<T> => {
  const at = path.lastIndexOf('/')
  const name = path.slice(at + 1)
  const folders = at < 0 ? [] : path.slice(0, at).split('/')
  return beneath(root, folders, {
    use: async ({ folder, name: last }) => {
      if (last === undefined) return use({ folder, name })
      const parent = await openFolder(join(folder.path, last))
      try {
        return await use({ folder: parent, name })
      } finally {
        await parent.handle.close()
      }
    },
  })
}
