import type { Pool, PoolClient } from 'pg'
import { transaction } from '../db/connect.ts'
import type { Appended, EventLog } from './log/event-log.ts'

/** Runs `work` in a transaction; readers hear of the events it pushed to `told` after the commit. */
export type Changing = <T>(work: (client: PoolClient, told: Appended[]) => Promise<T>) => Promise<T>

export const createChanging =
  (pool: Pool, eventLog: Pick<EventLog, 'tell'>): Changing =>
  async work => {
    const told: Appended[] = []
    const result = await transaction(pool, client => work(client, told))
    for (const appended of told) eventLog.tell(appended)
    return result
  }
