import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isAlive } from '../src/server/db/embedded/lock-file.ts'

/** Removes folders named `<prefix><pid>-...` of runs that were killed. */
export function removeDeadFolders(parent: string, prefix: string): void {
  for (const name of readdirSync(parent)) {
    const pid = Number(name.startsWith(prefix) && name.slice(prefix.length).split('-')[0])
    if (pid > 0 && !isAlive(pid)) rmSync(join(parent, name), { recursive: true, force: true })
  }
}
