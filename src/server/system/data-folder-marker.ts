import { randomUUID } from 'node:crypto'
import { link, mkdir, readFile, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '../platform/log.ts'

/** Starts with a dot, as no session id does, so it cannot collide with a workspace. */
const markerFile = '.folder-id'
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Returns the id of the folder that contains the workspaces. It is generated once and stored in a file there, so
 * processes that share the folder get the same id. Undefined when it can be neither read nor written.
 */
export async function folderIdOf(workspacesDir: string, log: Pick<Log, 'warn'>): Promise<string | undefined> {
  const path = join(workspacesDir, markerFile)
  try {
    await mkdir(workspacesDir, { recursive: true, mode: 0o700 })
    const id = (await read(path)) ?? (await make(path))
    if (uuid.test(id)) return id
    log.warn({ file: path }, 'id file of the data folder is damaged; delete it, and the next start writes a new one')
  } catch (cause) {
    log.warn(
      { err: cause },
      'could not write the id file of the data folder; replicas with another data folder are not detected',
    )
  }
  return undefined
}

/** When several processes write the file at the same time, the first wins, and all return its id. */
async function make(path: string): Promise<string> {
  const id = randomUUID()
  const draft = `${path}.${id}`
  try {
    await writeFile(draft, `${id}\n`, { mode: 0o600, flush: true })
    // `link` never replaces a file, and makes the complete file visible at once.
    await link(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await unlink(draft).catch(() => undefined)
  }
  return (await read(path)) ?? id
}

async function read(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
