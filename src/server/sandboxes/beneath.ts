import { constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { invalid } from '../platform/errors.ts'
import { workspaceRoot } from './sandbox.ts'

/** An open folder. `path` names it without passing through any link, for as long as it is open. */
export interface Folder {
  readonly handle: FileHandle
  readonly path: string
}

/** A place in the tree: an entry of an open folder that is no link, or the root itself when `name` is absent. */
export interface Place {
  readonly folder: Folder
  readonly name: string | undefined
}

const folderFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
const mostLinks = 40

/** Opens a folder that is no link. On Linux its path goes through the open descriptor, which no swap can redirect. */
export async function openFolder(path: string): Promise<Folder> {
  const handle = await open(path, folderFlags)
  return { handle, path: process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : path }
}

/**
 * Walks from `root` along `names` with every folder on the way held open, calls `use` with the end, then closes all.
 * A link counts as what it names inside; one that leads out is refused. `makeFolder` makes what is missing on the way.
 */
export async function beneath<T>(root: string, names: readonly string[], walk: Walk<T>): Promise<T> {
  const stack = [await openFolder(root)]
  try {
    return await walk.use(await follow(stack, [...names], walk.makeFolder))
  } finally {
    for (const { handle } of stack) await handle.close()
  }
}

interface Walk<T> {
  readonly use: (place: Place) => Promise<T>
  readonly makeFolder?: ((path: string) => Promise<void>) | undefined
}

async function follow(stack: Folder[], names: string[], makeFolder: Walk<unknown>['makeFolder']): Promise<Place> {
  let links = 0
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    const folder = top(stack)
    if (name === '..') {
      await leave(stack)
      continue
    }
    const target = await linkTarget(join(folder.path, name))
    if (target !== undefined) {
      links += 1
      if (links > mostLinks) throw invalid('the path passes through too many links')
      await redirect(stack, names, target)
    } else if (names.length === 0) {
      return { folder, name }
    } else {
      stack.push(await enter(join(folder.path, name), makeFolder))
    }
  }
  return { folder: top(stack), name: undefined }
}

function top(stack: readonly Folder[]): Folder {
  const folder = stack.at(-1)
  if (!folder) throw new Error('the walk has left its root')
  return folder
}

async function leave(stack: Folder[]): Promise<void> {
  if (stack.length === 1) throw leadsOut()
  await stack.pop()?.handle.close()
}

const leadsOut = () => invalid('the path follows a link out of the workspace')

/** Where the link at `path` points; undefined for what is no link or not there. */
async function linkTarget(path: string): Promise<string | undefined> {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  return found?.isSymbolicLink() ? await readlink(path) : undefined
}

/** Goes on with the names of a link's target: from the root when it is absolute, as seen from inside the sandbox. */
async function redirect(stack: Folder[], names: string[], target: string): Promise<void> {
  let steps = target
  if (target.startsWith('/')) {
    if (target !== workspaceRoot && !target.startsWith(`${workspaceRoot}/`)) throw leadsOut()
    steps = target.slice(workspaceRoot.length)
    while (stack.length > 1) await leave(stack)
  }
  names.unshift(...steps.split('/').filter(step => step !== '' && step !== '.'))
}

async function enter(path: string, makeFolder: Walk<unknown>['makeFolder']): Promise<Folder> {
  try {
    return await openFolder(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // Neither this nor the next call follows a link that was put there after the look.
    if (code === 'ELOOP') throw leadsOut()
    if (code !== 'ENOENT' || !makeFolder) throw error
    await makeFolder(path)
    return await openFolder(path)
  }
}

/** Makes a folder at `path`; one that another call has just made will do. */
export async function makeFolderAt(path: string, owner: { uid: number; gid: number } | undefined): Promise<void> {
  try {
    await mkdir(path, 0o755)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return
    throw error
  }
  if (!owner) return
  const made = await openFolder(path)
  try {
    await made.handle.chown(owner.uid, owner.gid)
  } finally {
    await made.handle.close()
  }
}
