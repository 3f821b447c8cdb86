import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, lstat, open, opendir, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError, invalid } from '../platform/errors.ts'
import { beneath, type Folder, makeFolderAt, openFolder, type Place } from './beneath.ts'
import { type FileList, type ListOptions, maxFileBytes, type WorkspaceFiles } from './sandbox.ts'
import { workspaceNames } from './workspace-path.ts'

const maxEntries = 50_000
const maxPathCharacters = 6_000_000
const maxDepth = 40

/** Returns the files of the workspace in `root`, an absolute host path. New files belong to the owner of `root`. */
export function workspaceFiles(root: string): WorkspaceFiles {
  let lastUpdate: Promise<unknown> = Promise.resolve()
  const read = (path: string) =>
    explained(path, () => beneath(root, workspaceNames(path), { use: place => readPlace(place) }))
  const write = (path: string, content: string | Buffer) =>
    explained(path, async () => {
      if (Buffer.byteLength(content) > maxFileBytes) throw invalid('exceeds 10 MiB; write it in parts with bash')
      const owner = await foreignOwner(root)
      return await beneath(root, workspaceNames(path), {
        use: place => replaceAt(place, content, owner),
        makeFolder: folder => makeFolderAt(folder, owner),
      })
    })
  return {
    read,
    write,
    async update(path, change) {
      const update = lastUpdate.then(async () => {
        await write(path, await change(await read(path)))
      })
      lastUpdate = update.catch(() => {})
      await update
    },
    list: (path, options) =>
      explained(path, () => beneath(root, workspaceNames(path), { use: place => listPlace(place, options) })),
  }
}

/** Returns the owner of the workspace if files that we create would have another owner. */
async function foreignOwner(root: string): Promise<{ uid: number; gid: number } | undefined> {
  const { uid, gid } = await lstat(root)
  return process.getuid?.() === 0 && uid !== 0 ? { uid, gid } : undefined
}

async function readPlace({ folder, name }: Place): Promise<Buffer> {
  if (name === undefined) throw invalid('is a folder')
  // Without NONBLOCK, opening a pipe would wait forever for a writer.
  const handle = await open(join(folder.path, name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const found = await handle.stat()
    if (found.isDirectory()) throw invalid('is a folder')
    if (!found.isFile()) throw invalid('not a regular file')
    return await readBounded(handle)
  } finally {
    await handle.close()
  }
}

/** Reads in chunks, because the file may grow meanwhile. */
async function readBounded(handle: FileHandle): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for (;;) {
    const { bytesRead, buffer } = await handle.read({ buffer: Buffer.allocUnsafe(256 * 1024) })
    if (bytesRead === 0) return Buffer.concat(chunks)
    bytes += bytesRead
    if (bytes > maxFileBytes) throw invalid('exceeds 10 MiB; read parts of it with bash')
    chunks.push(buffer.subarray(0, bytesRead))
  }
}

type Owner = { readonly uid: number; readonly gid: number } | undefined

/** Writes a complete new file and renames it over the old one. Replaces, not follows, a link created meanwhile. */
async function replaceAt(
  { folder, name }: Place,
  content: string | Buffer,
  owner: Owner,
): Promise<'created' | 'replaced'> {
  if (name === undefined) throw invalid('is a folder')
  const target = join(folder.path, name)
  const old = await lstat(target).catch(() => undefined)
  if (old?.isDirectory()) throw invalid('is a folder')
  if (old && !old.isFile()) throw invalid('not a regular file')
  const draft = join(folder.path, `.draft-${randomBytes(8).toString('hex')}`)
  const handle = await open(
    draft,
    constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
    0o644,
  )
  try {
    await fill(handle, { content, owner, mode: old ? old.mode & 0o777 : 0o644 })
    await rename(draft, target)
  } catch (error) {
    await unlink(draft).catch(() => {})
    throw error
  }
  return old ? 'replaced' : 'created'
}

async function fill(handle: FileHandle, file: { content: string | Buffer; owner: Owner; mode: number }): Promise<void> {
  try {
    await handle.writeFile(file.content, 'utf8')
    await handle.chmod(file.mode)
    if (file.owner) await handle.chown(file.owner.uid, file.owner.gid)
  } finally {
    await handle.close()
  }
}

async function listPlace({ folder, name }: Place, options: ListOptions): Promise<FileList> {
  const walk: ListWalk = {
    ...options,
    paths: [],
    left: maxEntries,
    charactersLeft: maxPathCharacters,
    complete: true,
  }
  if (name === undefined) {
    await listFolder(folder, '', walk)
  } else {
    const below = await openFolder(join(folder.path, name))
    try {
      await listFolder(below, '', walk)
    } finally {
      await below.handle.close()
    }
  }
  return { paths: walk.paths.sort(), complete: walk.complete }
}

interface ListWalk extends ListOptions {
  readonly paths: string[]
  left: number
  charactersLeft: number
  complete: boolean
}

async function listFolder(folder: Folder, prefix: string, walk: ListWalk): Promise<void> {
  // Reads one entry at a time, since a folder may have millions.
  for await (const entry of await opendir(folder.path)) {
    walk.signal?.throwIfAborted()
    if (walk.left === 0 || walk.charactersLeft < 0) {
      walk.complete = false
      return
    }
    const path = `${prefix}${entry.name}`
    walk.left -= 1
    walk.charactersLeft -= path.length
    if (!entry.isDirectory()) walk.paths.push(path)
    else if (!walk.skip.has(entry.name)) await listChild(folder, `${path}/`, walk)
  }
}

async function listChild(parent: Folder, prefix: string, walk: ListWalk): Promise<void> {
  const name = prefix.slice(0, -1).split('/').at(-1) ?? ''
  const tooDeep = prefix.split('/').length > maxDepth
  // A folder that has vanished or cannot be read is skipped.
  const child = tooDeep ? undefined : await openFolder(join(parent.path, name)).catch(() => undefined)
  if (!child) {
    walk.complete = false
    return
  }
  try {
    await listFolder(child, prefix, walk)
  } finally {
    await child.handle.close()
  }
}

const reasons: Record<string, string> = {
  ENOENT: 'file or folder does not exist',
  ENOTDIR: 'a part of the path is not a folder',
  EISDIR: 'is a folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ELOOP: 'link cannot be followed',
  ENAMETOOLONG: 'a name in the path is too long',
  ENOSPC: 'disk is full',
  EDQUOT: 'disk quota exceeded',
  ENXIO: 'not a regular file',
}

/** Turns file system errors into messages for the model that contain only the path that it gave. */
async function explained<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof AppError) throw invalid(`${path}: ${error.message}`)
    const reason = reasons[(error as NodeJS.ErrnoException).code ?? '']
    throw reason ? invalid(`${path}: ${reason}`) : error
  }
}
