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
  readonly store: Pick<SessionStore, 'lock' | 'find' | 'isAtWork'>
  readonly eventLog: Pick<EventLog, 'appendByCaller' | 'tell'>
}

/** An event that tells of changed files, and what is stored with it once its number is known. */
interface FilesChange {
  readonly event: NewEvent
  readonly commit: (client: PoolClient, seq: number) => Promise<void>
}

/**
 * Changes the files of a session while no run is at work: none can begin before the change is stored, and it finds the changed files.
 * False when `work` gives it up. Errors: `conflict` while a run is at work, `not_found`.
 */
export const createFilesChange =
  ({ pool, store, eventLog }: Deps) =>
  async (
    id: string,
    caller: Caller,
    work: (session: SessionRow) => Promise<FilesChange | undefined>,
  ): Promise<boolean> => {
    const told: Appended[] = []
    const isDone = await transaction(pool, async client => {
      await store.lock(client, id)
      const row = await store.find(id, caller.ownerScope, client)
      if (!row || row.deleted_at) throw notFound('session', id)
      if (await store.isAtWork(client, id)) throw atWork(id)
      if (row.checkpoint_id === null && row.data_folder !== null) throw notStored(id)
      const change = await work(row)
      if (!change) return false
      const appended = await eventLog.appendByCaller(client, id, [change.event])
      told.push(appended)
      await change.commit(client, appended.events.at(-1)?.seq ?? 0)
      return true
    })
    for (const appended of told) eventLog.tell(appended)
    return isDone
  }

const atWork = (id: string) =>
  new AppError(
    'conflict',
    `a run of session ${id} is at work; wait for its end or stop it with POST /session/${id}/abort, then try again`,
  )

/** Of an older release: a checkpoint without its files would delete them. */
const notStored = (id: string) =>
  new AppError('conflict', `no checkpoint holds the files of session ${id} yet; let it run a tool, then try again`)
