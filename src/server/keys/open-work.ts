import type { Caller } from '../http/caller.ts'
import type { Log } from '../platform/log.ts'
import { every } from '../platform/timers.ts'
import type { KeyStore } from './store.ts'

interface Options {
  readonly store: Pick<KeyStore, 'valid'>
  readonly log: Pick<Log, 'debug'>
}

/** Something that goes on under a key, such as a stream. */
export interface Watched {
  /** Aborts when the key opens it no more. */
  readonly signal: AbortSignal
  close(): void
}

/** What goes on under keys, so that it can be ended with them. */
export interface OpenWork {
  /** Watches the key of `caller`; without one the signal never aborts. */
  watch(caller: Caller): Watched
  /** Looks whether these keys are still valid, for the same owner; all keys that are in use unless given. */
  check(ids?: readonly string[]): Promise<void>
  stop(): Promise<void>
}

interface Work {
  readonly ownerScope: string | undefined
  readonly end: AbortController
}

const pollMs = 2_000

/** A look every 2 s finds keys that have expired, and those whose revocation was not heard of. */
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
      log.debug({ err: cause }, 'could not look whether keys are still valid; the next look will')
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
