import type { Pool, PoolClient } from 'pg'
import type { NewEvent } from '../../contract/events.ts'
import { transaction } from '../db/connect.ts'
import type { Caller } from '../http/caller.ts'
import { AppError, notFound } from '../platform/errors.ts'
import type { Appended, EventLog } from './log/event-log.ts'
import type { SessionRow } from './session-row.ts'
import type { SessionStore } from './session-store.ts'

interface Deps {
  readonly pool: Pool
  readonly store: Pick<SessionStore, 'lock' | 'find' | 'isBusy'>
  readonly eventLog: Pick<EventLog, 'appendByCaller' | 'publish'>
}

/** An event that reports changed files, and the write that is committed with it under its number. */
interface FilesChange {
  readonly event: NewEvent
  readonly commit: (client: PoolClient, seq: number) => Promise<void>
}

/**
 * Changes the files of a session that has no run. The row lock keeps a run from starting before the change is
 * committed. Returns false when `work` returns undefined. Errors: `conflict` while a run is active, `not_found`.
 */
export const createFilesChange =
  ({ pool, store, eventLog }: Deps) =>
  async (
    id: string,
    caller: Caller,
    work: (session: SessionRow) => Promise<FilesChange | undefined>,
  ): Promise<boolean> => {
    const unpublished: Appended[] = []
    const isDone = await transaction(pool, async client => {
      await store.lock(client, id)
      const row = await store.find(id, caller.ownerScope, client)
      if (!row || row.deleted_at) throw notFound('session', id)
      if (await store.isBusy(client, id)) throw hasActiveRun(id)
      const change = await work(row)
      if (!change) return false
      const appended = await eventLog.appendByCaller(client, id, [change.event])
      unpublished.push(appended)
      await change.commit(client, appended.events.at(-1)?.seq ?? 0)
      return true
    })
    for (const appended of unpublished) eventLog.publish(appended)
    return isDone
  }

const hasActiveRun = (id: string) =>
  new AppError(
    'conflict',
    `session ${id} has an active run; wait until it ends, or stop it with POST /session/${id}/abort, then retry`,
  )
