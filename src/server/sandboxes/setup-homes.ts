import { randomUUID } from 'node:crypto'
import { mkdir, readdir, rename, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import type { SandboxBase, SandboxDriver, SetupRequest } from './sandbox.ts'
import { deleteTree, makeWorkspace } from './session-folders.ts'
import { checkSetup, setupMs, setupScript } from './setup.ts'

interface Deps {
  /** Contains one folder per digest. */
  readonly folder: string
  readonly owner: number | undefined
  readonly exec: SandboxDriver['exec']
}

const maxHomes = 20
/** A set-up that did not end within this time ended with its server. */
const abandonedMs = 2 * setupMs
const unfinished = '.new'

/** Home folders after the set-up commands of agents, for a driver whose system is that of the host. */
export function createHomes({ folder, owner, exec }: Deps) {
  return {
    /** Returns the home after the set-up. It is stored completely or not at all. */
    async setUp({ commands, digest, network, signal }: SetupRequest): Promise<SandboxBase> {
      const home = join(folder, digest)
      if (await touched(home)) return { home }
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const made = join(folder, `${randomUUID()}${unfinished}`)
      const scratch = `${made}.scratch${unfinished}`
      try {
        await makeWorkspace(made, owner)
        await makeWorkspace(scratch, owner)
        const request = { command: setupScript(commands), timeoutMs: setupMs, signal, network, base: { home: made } }
        checkSetup(await exec(scratch, request))
        await rename(made, home).catch(async (error: unknown) => {
          // Another server has stored the same set-up meanwhile.
          if (!(await touched(home))) throw error
        })
      } finally {
        await deleteTree(scratch)
        await deleteTree(made)
      }
      await prune(folder)
      return { home }
    },
  }
}

/** Reports whether the folder exists, and marks it as used. */
async function touched(home: string): Promise<boolean> {
  const now = new Date()
  return await utimes(home, now, now).then(
    () => true,
    () => false,
  )
}

/** Deletes the homes that were not used for the longest time, and what servers left that were killed. */
async function prune(folder: string): Promise<void> {
  const found = await Promise.all(
    (await readdir(folder)).map(async name => {
      const path = join(folder, name)
      return { path, usedMs: (await stat(path).catch(() => undefined))?.mtimeMs ?? 0 }
    }),
  )
  const isNew = ({ path }: { path: string }) => path.endsWith(unfinished)
  const old = found.filter(one => isNew(one) && one.usedMs < Date.now() - abandonedMs)
  const homes = found.filter(one => !isNew(one)).toSorted((one, other) => other.usedMs - one.usedMs)
  for (const { path } of [...old, ...homes.slice(maxHomes)]) {
    // A copy that starts now must find all of it or nothing.
    const gone = path.endsWith(unfinished) ? path : `${path}.${randomUUID()}${unfinished}`
    if (gone !== path) await rename(path, gone)
    await deleteTree(gone)
  }
}
