import { randomUUID } from 'node:crypto'
import { lstat, readFile, rename, rm, writeFile } from 'node:fs/promises'

/** The marker is next to the workspace, where no tool can write. Session ids contain no dot. */
const markerOf = (folder: string): string => `${folder}.checkpoint`

/** Returns the checkpoint that the files in a folder include at least; undefined without a marker or a folder. */
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

/** Writes the marker atomically. */
export async function markCheckpoint(folder: string, checkpointId: string): Promise<void> {
  const draft = `${markerOf(folder)}.${randomUUID()}`
  await writeFile(draft, `${checkpointId}\n`, { mode: 0o600 })
  await rename(draft, markerOf(folder))
}

/** Removes the marker, so that the next owner of the session restores the files. */
export const unmark = (folder: string): Promise<void> => rm(markerOf(folder), { force: true })
