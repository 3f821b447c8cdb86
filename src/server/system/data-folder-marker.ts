import { randomUUID } from 'node:crypto'
import { link, mkdir, readFile, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '../platform/log.ts'

/** No session's id begins with a dot, so it is nobody's workspace. */
const markerFile = '.folder-id'
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * The id of the folder that holds the workspaces, kept in a file in it and made once: processes that see the same folder
 * see the same id. Undefined when it can be neither read nor made.
 */
export async function folderIdOf(workspacesDir: string, log: Pick<Log, 'warn'>): Promise<string | undefined> {
  const path = join(workspacesDir, markerFile)
  try {
    await mkdir(workspacesDir, { recursive: true, mode: 0o700 })
    const id = (await read(path)) ?? (await make(path))
    if (uuid.test(id)) return id
    log.warn({ file: path }, `the mark of the data folder is damaged; delete it, and the next start makes a new one`)
  } catch (cause) {
    log.warn({ err: cause }, 'the data folder could not be marked: replicas with another one are not told apart')
  }
  return undefined
}

/** Of several processes that make it at a time one wins, and all read what that one wrote. */
async function make(path: string): Promise<string> {
  const id = randomUUID()
  const draft = `${path}.${id}`
  try {
    await writeFile(draft, `${id}\n`, { mode: 0o600, flush: true })
    // A link never replaces a file, and shows it only as a whole.
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
