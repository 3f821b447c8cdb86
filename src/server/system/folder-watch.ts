import type { Log } from '../platform/log.ts'
import { every } from '../platform/timers.ts'
import type { ReplicaStore } from './replica-store.ts'

const heartbeatMs = 10_000

const warning =
  'another replica runs sessions with another data folder: put the data folders of all replicas on one shared volume'

interface Deps {
  readonly store: ReplicaStore
  /** This process among those of the database. */
  readonly id: string
  /** The data folder in which this process runs sessions; undefined when it runs none, or cannot tell. */
  readonly folderId: string | undefined
  readonly log: Pick<Log, 'info' | 'warn' | 'debug'>
}

/** Compares the data folder of this process with those of the other processes that run sessions on this database. */
export function createFolderWatch({ store, id, folderId, log }: Deps) {
  let differs = false
  let stopWatching: (() => Promise<void>) | undefined

  async function compare(ours: string): Promise<void> {
    await store.seen(id, ours)
    const others = await store.otherFolders(id)
    const differed = differs
    differs = others.some(theirs => theirs !== ours)
    if (differs && !differed) log.warn(warning)
    if (!differs && differed) log.info('all replicas that run sessions share one data folder again')
  }

  return {
    /** What the operator should know; empty while there is nothing. */
    warnings: (): readonly string[] => (differs ? [warning] : []),
    /** Records this process and looks for the others, now and every 10 s. What cannot be asked for stays as it was. */
    async start(): Promise<void> {
      if (folderId === undefined) return
      const look = () =>
        compare(folderId).catch((cause: unknown) =>
          log.debug({ err: cause }, 'the data folders of replicas could not be compared; the next look will'),
        )
      await look()
      stopWatching = every(heartbeatMs, look)
    },
    /** The others forget this process at once. */
    async stop(): Promise<void> {
      await stopWatching?.()
      await store
        .remove(id)
        .catch((cause: unknown) => log.debug({ err: cause }, 'the row of this process was not removed'))
    },
  }
}
