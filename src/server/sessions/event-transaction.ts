import type { Pool, PoolClient } from 'pg'
import { endsRun, type SessionEvent } from '../../contract/events.ts'
import { transaction } from '../db/connect.ts'
import type { Appended, EventLog } from './log/event-log.ts'

/** Runs `work` in a transaction, and publishes the events that it adds to `unpublished` after the commit. */
export type EventTransaction = <T>(work: (client: PoolClient, unpublished: Appended[]) => Promise<T>) => Promise<T>

/** `onStopped` is called with each session whose prompts a transaction has ended. */
export const createEventTransaction =
  (
    pool: Pool,
    eventLog: Pick<EventLog, 'publish'>,
    onStopped: (sessionId: string) => void = () => undefined,
  ): EventTransaction =>
  async work => {
    const unpublished: Appended[] = []
    const result = await transaction(pool, client => work(client, unpublished))
    for (const appended of unpublished) {
      eventLog.publish(appended)
      if (appended.events.some(endsPrompt)) onStopped(appended.sessionId)
    }
    return result
  }

const endsPrompt = (event: SessionEvent): boolean => event.type === 'session.prompt_ended' || endsRun(event)
