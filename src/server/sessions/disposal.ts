import type { Log } from '../platform/log.ts'
import { every, pause } from '../platform/timers.ts'
import type { RuntimeRegistry } from '../runtimes/runtime.ts'
import type { DisposalStore, Remains } from './disposal-store.ts'
import { refsOf } from './session-row.ts'

interface Deps {
  readonly store: DisposalStore
  readonly runtimes: Pick<RuntimeRegistry, 'find'>
  /** Resolves once nothing in this process works on the session. */
  readonly settled: (sessionId: string) => Promise<void>
  readonly log: Log
}

/** How long a caller waits for it. */
const patienceMs = 5_000
const sweepMs = 30_000

/**
 * Removes what deleted sessions left at their runtimes: runs, files, records. A runtime that is away does not hold the
 * deletion up: it is asked again later, by any replica, for 7 days.
 */
export function createDisposal({ store, runtimes, settled, log }: Deps) {
  const atWork = new Set<Promise<void>>()
  let stopSweeping: (() => Promise<void>) | undefined

  async function dispose(remains: Remains): Promise<void> {
    const { id, runtime } = remains
    try {
      await settled(id)
      // One that is not registered any more cannot be asked.
      await (await runtimes.find(runtime))?.dispose({ id, refs: refsOf(remains) })
      await store.done(id)
    } catch (cause) {
      log.warn(
        { err: cause, session_id: id, runtime },
        'a deleted session could not be removed at its runtime; later again',
      )
    }
  }

  async function disposeNext(id?: string): Promise<boolean> {
    const remains = await store.claim(id)
    if (remains) await dispose(remains)
    return remains !== undefined
  }

  function tracked(work: Promise<void>): Promise<void> {
    const tracked = work.finally(() => atWork.delete(tracked))
    atWork.add(tracked)
    return tracked
  }

  async function sweep(): Promise<void> {
    try {
      while (await disposeNext());
    } catch (cause) {
      log.debug({ err: cause }, 'could not look for deleted sessions; the next look will')
    }
  }

  return {
    /** Right after the deletion. Resolves when it is done, or goes on by itself after 5 s. */
    async begin(id: string): Promise<void> {
      const over = new AbortController()
      const work = tracked(disposeNext(id).then(() => undefined)).finally(() => over.abort())
      await Promise.race([work, pause(patienceMs, over.signal)])
    },

    start(): void {
      void tracked(sweep())
      stopSweeping = every(sweepMs, sweep)
    },

    /** Waits for what is at work, 5 s at most. */
    async stop(): Promise<void> {
      const over = new AbortController()
      const work = Promise.allSettled([stopSweeping?.(), ...atWork]).then(() => over.abort())
      await Promise.race([work, pause(patienceMs, over.signal)])
    },
  }
}
