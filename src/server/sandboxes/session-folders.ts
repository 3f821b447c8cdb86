import { chmod, chown, lchown, lstat, mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { runChild } from '../platform/child-process.ts'
import { invalid } from '../platform/errors.ts'
import { networkFolderOf, type ProgramFolders } from './sandbox.ts'

/** Returns the workspace of a session below `root`. */
export function workspaceOf(root: string, sessionId: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/.test(sessionId)) throw invalid('invalid session_id')
  return join(root, sessionId)
}

/** Session ids contain no dot, so these paths cannot collide with a workspace. */
export const foldersOf = (workspace: string): ProgramFolders => ({
  workspace,
  home: `${workspace}.home`,
  sockets: `${workspace}.run`,
})

/** Returns the file that names the last checkpoint of a workspace. */
const checkpointOf = (workspace: string): string => `${workspace}.checkpoint`

/** Returns the file with the digest of the set-up in the home of a session. */
export const setupMarkerOf = (workspace: string): string => `${workspace}.setup`

/** Deletes everything of a session. Does nothing when it does not exist. */
export async function deleteSession(workspace: string): Promise<void> {
  const { home, sockets } = foldersOf(workspace)
  const others = [checkpointOf(workspace), setupMarkerOf(workspace), networkFolderOf(workspace), sockets, home]
  for (const each of [...others, workspace]) await deleteTree(each)
}

/** Creates a folder that only its owner can enter. Changes the owner of one that another driver created. */
export async function makeWorkspace(folder: string, owner: number | undefined): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
  if (owner === undefined || (await lstat(folder)).uid === owner) return
  // Its root is changed last and marks completion.
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    await lchown(join(entry.parentPath, entry.name), owner, owner)
  }
  await chown(folder, owner, owner)
}

/** Also deletes what a tool made hard to delete: folders without permissions, and trees deeper than a path can name. */
export async function deleteTree(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true })
  } catch {
    const script = 'chmod -R u+rwX -- "$1" 2>/dev/null; exec rm -rf -- "$1"'
    await runChild('/bin/sh', ['-c', script, 'sh', folder], { env: { PATH: '/usr/bin:/bin' } })
  }
}
