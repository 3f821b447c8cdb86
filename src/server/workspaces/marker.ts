import { randomUUID } from 'node:crypto'
import { lstat, readFile, rename, rm, writeFile } from 'node:fs/promises'

/** Beside the workspace, where no tool can write: no session's id holds a dot. */
const markerOf = (folder: string): string => `${folder}.checkpoint`

/** The checkpoint that the files in a folder are at least as new as; undefined when nobody knows, or there is no folder. */
export async function markedCheckpoint(folder: string): Promise<string | undefined> {
  const isThere = await lstat(folder).then(
    found => found.isDirectory(),
    () => false,
  )
  if (!isThere) return undefined
  return readFile(markerOf(folder), 'utf8').then(
    text => text.trim(),
    () => undefined,
  )
}

/** As a whole or not at all. */
export async function markCheckpoint(folder: string, checkpointId: string): Promise<void> {
  const draft = `${markerOf(folder)}.${randomUUID()}`
  await writeFile(draft, `${checkpointId}\n`, { mode: 0o600 })
  await rename(draft, markerOf(folder))
}

/** From now on the next owner of the session restores the files. */
export const unmark = (folder: string): Promise<void> => rm(markerOf(folder), { force: true })
