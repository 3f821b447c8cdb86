import { constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { invalid } from '../platform/errors.ts'
import { workspaceRoot } from './sandbox.ts'

/** An open folder. While it is open, `path` reaches it without following links. */
export interface Folder {
  readonly handle: FileHandle
  readonly path: string
}

/** An entry of an open folder that is not a link, or the root itself when `name` is absent. */
export interface Place {
  readonly folder: Folder
  readonly name: string | undefined
}

const folderFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
const maxLinks = 40

/**
 * Opens a folder that is not a link. On Linux its path uses the open descriptor, so replacing the folder has no effect.
 */
export async function openFolder(path: string): Promise<Folder> {
  const handle = await open(path, folderFlags)
  return { handle, path: process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : path }
}

/**
 * Resolves `names` below `root` with every folder on the way kept open, passes the result to `use`, and closes all
 * folders. Follows links inside the root and rejects links that lead out. `makeFolder` creates missing folders.
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
      if (links > maxLinks) throw invalid(`path passes through more than ${maxLinks} links`)
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
  if (!folder) throw new Error('path resolution left its root (bug)')
  return folder
}

async function leave(stack: Folder[]): Promise<void> {
  if (stack.length === 1) throw leadsOut()
  await stack.pop()?.handle.close()
}

const leadsOut = () => invalid('path follows a link out of the workspace')

/** Returns the target of the link at `path`; undefined when it is not a link or does not exist. */
async function linkTarget(path: string): Promise<string | undefined> {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  return found?.isSymbolicLink() ? await readlink(path) : undefined
}

/** Continues with the names of a link's target; an absolute target is relative to the root inside the sandbox. */
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
    // Neither this nor the next call follows a link that was created after the check.
    if (code === 'ELOOP') throw leadsOut()
    if (code !== 'ENOENT' || !makeFolder) throw error
    await makeFolder(path)
    return await openFolder(path)
  }
}

/** Creates a folder at `path`. Succeeds when another call has just created it. */
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
