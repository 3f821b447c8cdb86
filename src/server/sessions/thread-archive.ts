import type { PoolClient } from 'pg'
import { AppError } from '../platform/errors.ts'
import type { EventTransaction } from './event-transaction.ts'
import type { EventLog } from './log/event-log.ts'
import type { SessionStore } from './session-store.ts'
import type { SubagentStore } from './waits/subagent-store.ts'

interface Deps {
  readonly sessions: Pick<SessionStore, 'lock' | 'find'>
  readonly calls: Pick<SubagentStore, 'ofChild'>
  readonly eventLog: Pick<EventLog, 'appendByCaller'>
  readonly eventTransaction: EventTransaction
}

/**
 * Archives the session of a called agent with `archive`, and logs the end of its thread in the session that called it.
 * Throws `conflict` while it works. The caller must have checked access.
 */
export type ThreadArchive = (
  threadId: string,
  callerId: string,
  archive: (client: PoolClient) => Promise<void>,
) => Promise<void>

export const createThreadArchive =
  ({ sessions, calls, eventLog, eventTransaction }: Deps): ThreadArchive =>
  (threadId, callerId, archive) =>
    eventTransaction(async (client, unpublished) => {
      // Sessions are locked from the top down.
      await sessions.lock(client, callerId)
      await sessions.lock(client, threadId)
      const row = await sessions.find(threadId, undefined, client)
      const call = await calls.ofChild(client, threadId)
      if ((row?.unfinished ?? 0) > 0 || call?.state === 'running')
        throw new AppError('conflict', `thread ${threadId} is running; interrupt it before archiving`)
      await archive(client)
      if (!call) return
      const thread = { session_thread_id: threadId, tool_use_id: call.tool_use_id, agent_name: call.agent_name }
      const event = { type: 'session.thread_status_terminated', ...thread } as const
      unpublished.push(await eventLog.appendByCaller(client, callerId, [event]))
    })
