import { opendir } from 'node:fs/promises'
import type { Log } from '../platform/log.ts'
import { every } from '../platform/timers.ts'

interface Deps {
  /** Holds one folder for each session that was at work on this machine. */
  readonly folder: string
  /** Those of the given sessions that were deleted a while ago. */
  readonly deletedAmong: (sessionIds: readonly string[]) => Promise<string[]>
  /** Removes what this machine has of a session. */
  readonly remove: (sessionId: string) => Promise<void>
  readonly log: Pick<Log, 'debug' | 'info'>
}

const sweepMs = 15 * 60_000
const asked = 500

/**
 * Removes what sessions have left on this machine that were deleted while another one had them. Sessions that the database does not
 * know stay: it may be the wrong one.
 */
export function createLeftBehind({ folder, deletedAmong, remove, log }: Deps) {
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
        // Beside the workspace lie the home, the sockets and the mark of its checkpoint.
        const id = name.split('.')[0] ?? ''
        if (id.startsWith('ses_')) ids.add(id)
        if (ids.size < asked) continue
        await removeAmong([...ids])
        ids = new Set()
      }
      if (ids.size > 0) await removeAmong([...ids])
    } catch (cause) {
      log.debug({ err: cause }, 'could not look for the files of deleted sessions; the next look will')
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
