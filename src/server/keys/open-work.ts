import type { Caller } from '../http/caller.ts'
import type { Log } from '../platform/log.ts'
import { every } from '../platform/timers.ts'
import type { ValidKey } from './grant-store.ts'
import type { KeyStore } from './store.ts'

interface Options {
  readonly store: Pick<KeyStore, 'valid'>
  readonly log: Pick<Log, 'debug'>
}

/** Work that runs under a key, such as a stream. */
export interface Watched {
  /** Aborts once the key is no longer valid for it, or may only read since it began. */
  readonly signal: AbortSignal
  close(): void
}

/** Running work under keys, which is aborted when its key ends. */
export interface OpenWork {
  /** Watches the key of `caller`; without a key the signal never aborts. */
  watch(caller: Caller): Watched
  /** Checks that keys are still valid, for the same owner and not just to read; all keys in use by default. */
  check(ids?: readonly string[]): Promise<void>
  stop(): Promise<void>
}

interface Work {
  readonly ownerScope: string | undefined
  readonly isViewer: boolean
  readonly end: AbortController
}

const pollMs = 2_000

/** A poll every 2 s finds expired keys, and revoked ones whose notification was lost. */
export function createOpenWork({ store, log }: Options): OpenWork {
  const byKey = new Map<string, Set<Work>>()

  async function check(ids: readonly string[] = [...byKey.keys()]): Promise<void> {
    const watched = ids.filter(id => byKey.has(id))
    if (watched.length === 0) return
    try {
      const valid = new Map((await store.valid(watched)).map(key => [key.id, key]))
      for (const id of watched) {
        const key = valid.get(id)
        for (const work of byKey.get(id) ?? []) if (!key || !isAllowed(work, key)) work.end.abort()
      }
    } catch (cause) {
      log.debug({ err: cause }, 'cannot check whether keys are still valid; retrying in the next check')
    }
  }

  return {
    watch({ key, ownerScope, role }) {
      const end = new AbortController()
      if (!key) return { signal: end.signal, close: () => undefined }
      const { id } = key
      const work = { ownerScope, isViewer: role === 'viewer', end }
      byKey.set(id, (byKey.get(id) ?? new Set()).add(work))
      return {
        signal: end.signal,
        close() {
          const works = byKey.get(id)
          works?.delete(work)
          if (works?.size === 0) byKey.delete(id)
        },
      }
    },
    check,
    stop: every(pollMs, () => check()),
  }
}

/** A reader that is stopped for its new role may read again with a new request. */
const isAllowed = ({ ownerScope, isViewer }: Work, { owner_id, role }: ValidKey): boolean =>
  (owner_id ?? undefined) === ownerScope && (isViewer || role !== 'viewer')
