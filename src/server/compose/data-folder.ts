import type { Pool } from 'pg'
import type { Config } from '../config/config.ts'
import type { Part } from '../platform/lifecycle.ts'
import type { Log } from '../platform/log.ts'
import type { OpenFiles } from '../platform/open-files.ts'
import type { Sandboxes } from '../sandboxes/sandboxes.ts'
import { databaseCheck, folderCheck, isUnwritable } from '../system/checks.ts'
import { createDiskReserve } from '../system/disk-reserve.ts'
import { createReadiness } from '../system/readiness.ts'
import { replicaStore } from '../system/replica-store.ts'

interface Needs {
  readonly config: Pick<Config, 'dataDir'>
  readonly log: Log
  readonly pool: Pool
  readonly files: Pick<OpenFiles, 'shortage'>
  /** Replica id of this process. */
  readonly owner: string
  readonly sandboxes: Pick<Sandboxes, 'remove'>
}

/** Readiness and the disk reserve: the process must be able to write its data folder and the database. */
export function composeDataFolder(needs: Needs) {
  const { config, log, pool, files, owner, sandboxes } = needs
  const { dataDir } = config
  const replicas = replicaStore(pool)
  const reserve = createDiskReserve(dataDir, log)
  const readiness = createReadiness([
    databaseCheck(() => replicas.seen(owner)),
    folderCheck(dataDir),
    async () => files.shortage,
  ])
  const parts: readonly Part[] = [{ name: 'disk reserve', start: reserve.start, stop: reserve.stop }]
  return {
    readiness,
    parts,
    /** Deletes the files of a session when the database cannot write; returns false when `cause` is another error. */
    async makeRoom(sessionId: string, cause: unknown): Promise<boolean> {
      const isFull = await reserve.freeIfFull()
      if (!isFull && !isUnwritable(cause)) return false
      await sandboxes.remove(sessionId)
      return true
    },
  }
}
