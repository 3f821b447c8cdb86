import type { ManagedStatus } from '../../contract/managed-sessions.ts'
import type { SessionThread } from '../../contract/managed-threads.ts'
import type { Caller } from '../http/caller.ts'
import { AppError, invalid, notFound } from '../platform/errors.ts'
import type { EventTransaction } from '../sessions/event-transaction.ts'
import type { EventLog } from '../sessions/log/event-log.ts'
import type { SessionStore } from '../sessions/session-store.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { SubagentStore } from '../sessions/waits/subagent-store.ts'
import type { SessionDetailsStore } from './session-details-store.ts'
import type { SessionReading, SessionRow } from './session-reading.ts'
import { toThread } from './thread-object.ts'

interface Deps {
  readonly store: Pick<SessionDetailsStore, 'threadIds' | 'archive'>
  readonly sessions: Pick<Sessions, 'open' | 'among' | 'threadOf'>
  readonly lock: SessionStore['lock']
  readonly calls: Pick<SubagentStore, 'ofChild'>
  readonly eventLog: Pick<EventLog, 'appendByCaller'>
  readonly eventTransaction: EventTransaction
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
      await deps.eventTransaction(async (client, unpublished) => {
        // Sessions are locked from the top down.
        await deps.lock(client, callerId)
        await deps.lock(client, threadId)
        const call = await deps.calls.ofChild(client, threadId)
        if (row.unfinished > 0 || call?.state === 'running')
          throw new AppError('conflict', `thread ${threadId} is running; interrupt it before archiving`)
        await store.archive(client, threadId)
        if (!call) return
        const { tool_use_id, agent_name } = call
        const thread = { session_thread_id: threadId, tool_use_id, agent_name }
        const event = { type: 'session.thread_status_terminated', ...thread } as const
        unpublished.push(await deps.eventLog.appendByCaller(client, callerId, [event]))
      })
      return get(sessionId, threadId, caller)
    },
  }
}
