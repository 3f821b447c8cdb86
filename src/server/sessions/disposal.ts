import type { Log } from '../platform/log.ts'
import { every, pause } from '../platform/timers.ts'
import type { RuntimeRegistry } from '../runtimes/runtime.ts'
import type { DeletedSession, DisposalStore } from './disposal-store.ts'
import { refsOf } from './session-row.ts'

interface Deps {
  readonly store: DisposalStore
  readonly runtimes: Pick<RuntimeRegistry, 'find'>
  /** Resolves once this process no longer runs the session. */
  readonly settled: (sessionId: string) => Promise<void>
  readonly log: Log
}

/** How long `begin` and `stop` wait for cleanup. */
const maxWaitMs = 5_000
const sweepMs = 30_000

/**
 * Removes the runs, files and records of deleted sessions at their runtimes. An unreachable runtime does not delay the
 * deletion: any replica retries the cleanup for 7 days.
 */
export function createDisposal({ store, runtimes, settled, log }: Deps) {
  const running = new Set<Promise<void>>()
  let stopSweeping: (() => Promise<void>) | undefined

  async function dispose(session: DeletedSession): Promise<void> {
    const { id, runtime } = session
    try {
      await settled(id)
      // A runtime that was unregistered meanwhile has nothing to remove.
      await (await runtimes.find(runtime))?.dispose({ id, refs: refsOf(session) })
      await store.done(id)
    } catch (cause) {
      log.warn(
        { err: cause, session_id: id, runtime },
        'cannot remove a deleted session at its runtime; retrying later',
      )
    }
  }

  async function disposeNext(id?: string): Promise<boolean> {
    const session = await store.claim(id)
    if (session) await dispose(session)
    return session !== undefined
  }

  function tracked(work: Promise<void>): Promise<void> {
    const tracked = work.finally(() => running.delete(tracked))
    running.add(tracked)
    return tracked
  }

  async function sweep(): Promise<void> {
    try {
      while (await disposeNext());
    } catch (cause) {
      log.debug({ err: cause }, 'cannot find deleted sessions; retrying in the next sweep')
    }
  }

  return {
    /**
     * Starts the cleanup of a session right after its deletion. Resolves when it is done, or after 5 s while it
     * continues.
     */
    async begin(id: string): Promise<void> {
      const over = new AbortController()
      const work = tracked(disposeNext(id).then(() => undefined)).finally(() => over.abort())
      await Promise.race([work, pause(maxWaitMs, over.signal)])
    },

    start(): void {
      void tracked(sweep())
      stopSweeping = every(sweepMs, sweep)
    },

    /** Waits up to 5 s for running cleanups. */
    async stop(): Promise<void> {
      const over = new AbortController()
      const work = Promise.allSettled([stopSweeping?.(), ...running]).then(() => over.abort())
      await Promise.race([work, pause(maxWaitMs, over.signal)])
    },
  }
}
