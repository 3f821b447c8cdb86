import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Removes the notes about which checkpoint each folder of files contains, so that sessions restore their files from the
 * database that was just restored. Files stay until then.
 */
export async function removeMarkers(dataDir: string): Promise<void> {
  const folder = join(dataDir, 'workspaces')
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  for (const entry of entries) {
    if (!entry.isDirectory() && entry.name.endsWith('.checkpoint')) await rm(join(folder, entry.name), { force: true })
  }
}
