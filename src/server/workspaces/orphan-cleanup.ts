import { opendir } from 'node:fs/promises'
import type { Log } from '../platform/log.ts'
import { every } from '../platform/timers.ts'

interface Deps {
  /** Contains one folder per session that ran on this machine. */
  readonly folder: string
  /** Returns those of the given sessions that were deleted some time ago. */
  readonly deletedAmong: (sessionIds: readonly string[]) => Promise<string[]>
  /** Removes the files of a session on this machine. */
  readonly remove: (sessionId: string) => Promise<void>
  readonly log: Pick<Log, 'debug' | 'info'>
}

const sweepMs = 15 * 60_000
const batchSize = 500

/**
 * Removes files on this machine of sessions that were deleted while another machine ran them. Files of sessions that
 * the database does not have stay, because it may be the wrong database.
 */
export function createOrphanCleanup({ folder, deletedAmong, remove, log }: Deps) {
  let stopSweeping = async (): Promise<void> => undefined

  async function removeAmong(ids: readonly string[]): Promise<void> {
    const deleted = await deletedAmong(ids)
    for (const id of deleted) await remove(id)
    if (deleted.length > 0)
      log.info({ sessions: deleted.length }, 'removed the files of sessions that were deleted elsewhere')
  }

  async function sweep(): Promise<void> {
    try {
      let ids = new Set<string>()
      for await (const { name } of await opendir(folder)) {
        // Next to the workspace are the home, the sockets, the network and the checkpoint marker, with the session id
        // up to the first dot.
        const id = name.split('.')[0] ?? ''
        if (id.startsWith('ses_')) ids.add(id)
        if (ids.size < batchSize) continue
        await removeAmong([...ids])
        ids = new Set()
      }
      if (ids.size > 0) await removeAmong([...ids])
    } catch (cause) {
      log.debug({ err: cause }, 'cannot find the files of deleted sessions; retrying in the next sweep')
    }
  }

  return {
    sweep,
    start(): void {
      void sweep()
      stopSweeping = every(sweepMs, sweep)
    },
    stop: (): Promise<void> => stopSweeping(),
  }
}
