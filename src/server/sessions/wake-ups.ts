import type { PoolClient } from 'pg'
import type { Notifications } from '../db/notifications.ts'

const channel = 'session_wake'

/** Says to all processes that a session has work. */
export interface WakeUps {
  /** Announces work for a session; takes effect when the transaction commits. */
  send(client: PoolClient, sessionId: string): Promise<void>
  /** Calls `onWork` with each session that has work; `onLost` when such calls may have been missed. */
  listen(onWork: (sessionId: string) => void, onLost: () => void): void
}

/**
 * Wake-ups by NOTIFY. Nothing hangs on one: the queue is the table of prompts, the lease decides who runs a session, and
 * the runner looks for what it did not hear of. Decision 0010.
 */
export const createWakeUps = (notifications: Pick<Notifications, 'on' | 'onReconnect'>): WakeUps => ({
  async send(client, sessionId) {
    await client.query({ name: 'wake', text: `select pg_notify('${channel}', $1)`, values: [sessionId] })
  },
  listen(onWork, onLost) {
    notifications.on(channel, onWork)
    notifications.onReconnect(onLost)
  },
})
