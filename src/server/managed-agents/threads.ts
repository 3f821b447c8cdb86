import type { ManagedStatus } from '../../contract/managed-sessions.ts'
import type { SessionThread } from '../../contract/managed-threads.ts'
import type { Caller } from '../http/caller.ts'
import { invalid, notFound } from '../platform/errors.ts'
import type { Sessions, ThreadArchive } from '../sessions/sessions.ts'
import type { SessionDetailsStore } from './session-details-store.ts'
import type { SessionReading, SessionRow } from './session-reading.ts'
import { toThread } from './thread-object.ts'

interface Deps {
  readonly store: Pick<SessionDetailsStore, 'threadIds' | 'archive'>
  readonly sessions: Pick<Sessions, 'open' | 'among' | 'threadOf'>
  readonly archive: ThreadArchive
  readonly read: SessionReading
}

interface Page {
  readonly after: string | undefined
  readonly limit: number
}

/** A session and those that work for it, as the threads of the Managed Agents dialect. */
export type SessionThreads = ReturnType<typeof createSessionThreads>

export function createSessionThreads(deps: Deps) {
  const { store, sessions, read } = deps

  const present = async (sessionId: string, rows: readonly SessionRow[]): Promise<SessionThread[]> =>
    (await read(rows)).map(parts => toThread(sessionId, parts))

  /** Returns the session of a thread. Throws `not_found`. */
  async function rowOf(sessionId: string, threadId: string, caller: Caller): Promise<SessionRow> {
    const session = await sessions.open(sessionId, caller)
    return threadId === sessionId ? session : sessions.threadOf(sessionId, threadId, caller)
  }

  async function get(sessionId: string, threadId: string, caller: Caller): Promise<SessionThread> {
    const [thread] = await present(sessionId, [await rowOf(sessionId, threadId, caller)])
    if (!thread) throw notFound('thread', threadId)
    return thread
  }

  return {
    rowOf,
    get,

    /** Returns a page of threads, the primary one first; undefined statuses select all. */
    async list(
      sessionId: string,
      { after, limit }: Page,
      { statuses, caller }: { readonly statuses: readonly ManagedStatus[] | undefined; readonly caller: Caller },
    ): Promise<SessionThread[]> {
      await sessions.open(sessionId, caller)
      const found: SessionThread[] = []
      for (let last = after; ; ) {
        const ids = await store.threadIds(sessionId, { after: last, limit })
        const rows = new Map((await sessions.among(ids, caller)).map(row => [row.id, row]))
        const shown = await present(
          sessionId,
          ids.flatMap(id => rows.get(id) ?? []),
        )
        found.push(...shown.filter(({ status }) => statuses?.includes(status) ?? true))
        if (found.length >= limit || ids.length < limit) return found.slice(0, limit)
        last = ids.at(-1)
      }
    },

    /** Archives the thread of a called agent. Throws `conflict` while it works. Idempotent. */
    async archive(sessionId: string, threadId: string, caller: Caller): Promise<SessionThread> {
      const row = await rowOf(sessionId, threadId, caller)
      if (threadId === sessionId) throw invalid('the primary thread is archived with its session; archive the session')
      const [callerId = sessionId] = row.ancestors
      const before = await get(sessionId, threadId, caller)
      if (before.archived_at !== null) return before
      await deps.archive(threadId, callerId, client => store.archive(client, threadId))
      return get(sessionId, threadId, caller)
    },
  }
}
