import type { Caller } from '../http/caller.ts'
import type { Log } from '../platform/log.ts'
import { every } from '../platform/timers.ts'
import type { KeyStore } from './store.ts'

interface Options {
  readonly store: Pick<KeyStore, 'valid'>
  readonly log: Pick<Log, 'debug'>
}

/** Work that runs under a key, such as a stream. */
export interface Watched {
  /** Aborts once the key is no longer valid for it. */
  readonly signal: AbortSignal
  close(): void
}

/** Running work under keys, which is aborted when its key ends. */
export interface OpenWork {
  /** Watches the key of `caller`; without a key the signal never aborts. */
  watch(caller: Caller): Watched
  /** Checks that keys are still valid, for the same owner; all keys in use by default. */
  check(ids?: readonly string[]): Promise<void>
  stop(): Promise<void>
}

interface Work {
  readonly ownerScope: string | undefined
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
      const valid = new Map((await store.valid(watched)).map(({ id, owner_id }) => [id, owner_id ?? undefined]))
      for (const id of watched) {
        for (const { ownerScope, end } of byKey.get(id) ?? [])
          if (!valid.has(id) || valid.get(id) !== ownerScope) end.abort()
      }
    } catch (cause) {
      log.debug({ err: cause }, 'cannot check whether keys are still valid; retrying in the next check')
    }
  }

  return {
    watch({ key, ownerScope }) {
      const end = new AbortController()
      if (!key) return { signal: end.signal, close: () => undefined }
      const { id } = key
      const work = { ownerScope, end }
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
