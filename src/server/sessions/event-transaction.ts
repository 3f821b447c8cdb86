import type { Pool, PoolClient } from 'pg'
import { transaction } from '../db/connect.ts'
import type { Appended, EventLog } from './log/event-log.ts'

/** Runs `work` in a transaction, and publishes the events that it adds to `unpublished` after the commit. */
export type EventTransaction = <T>(work: (client: PoolClient, unpublished: Appended[]) => Promise<T>) => Promise<T>

export const createEventTransaction =
  (pool: Pool, eventLog: Pick<EventLog, 'publish'>): EventTransaction =>
  async work => {
    const unpublished: Appended[] = []
    const result = await transaction(pool, client => work(client, unpublished))
    for (const appended of unpublished) eventLog.publish(appended)
    return result
  }
