import { hint } from '../../db/hints.ts'
import type { Notifications } from '../../db/notifications.ts'
import type { Queryable } from '../log/event-store.ts'

const channel = 'session_wake'

/** Notifies all processes that a session has work. */
export interface WakeUps {
  /** Notifies of work for a session when the writes of `on` are committed. */
  send(on: Queryable, sessionId: string): void
  /** Calls `onWork` with each session that has work, and `onLost` when notifications may have been missed. */
  listen(onWork: (sessionId: string) => void, onLost: () => void): void
}

/**
 * Wake-ups over NOTIFY. Correctness does not depend on them: the queue is the table of prompts, the lease decides which
 * process runs a session, and the runner also polls for work. Source: Decision 0010.
 */
export const createWakeUps = (notifications: Pick<Notifications, 'on' | 'onReconnect'>): WakeUps => ({
  send: (on, sessionId) => hint(on, channel, sessionId),
  listen(onWork, onLost) {
    notifications.on(channel, onWork)
    notifications.onReconnect(onLost)
  },
})
