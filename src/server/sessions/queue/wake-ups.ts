import { hint } from '../../db/hints.ts'
import type { Notifications } from '../../db/notifications.ts'
import type { Queryable } from '../log/event-store.ts'

const channel = 'session_wake'

/** Says to all processes that a session has work. */
export interface WakeUps {
  /** Announces work for a session, once what `on` writes is committed. */
  send(on: Queryable, sessionId: string): void
  /** Calls `onWork` with each session that has work; `onLost` when such calls may have been missed. */
  listen(onWork: (sessionId: string) => void, onLost: () => void): void
}

/**
 * Wake-ups as hints. Nothing hangs on one: the queue is the table of prompts, the lease decides who runs a session, and
 * the runner looks for what it did not hear of. Decision 0010.
 */
export const createWakeUps = (notifications: Pick<Notifications, 'on' | 'onReconnect'>): WakeUps => ({
  send: (on, sessionId) => hint(on, channel, sessionId),
  listen(onWork, onLost) {
    notifications.on(channel, onWork)
    notifications.onReconnect(onLost)
  },
})
