import type { Log } from '../platform/log.ts'
import type { SessionStore } from './session-store.ts'

interface Deps {
  readonly store: Pick<SessionStore, 'markSandboxRunning'>
  /** The data folder of this process; undefined when it cannot tell. */
  readonly folderId: string | undefined
  readonly log: Log
}

/** Records that tools of a session are at work. The record is for people: no run fails by it. */
export const createSandboxMark =
  ({ store, folderId, log }: Deps) =>
  (sessionId: string): Promise<void> =>
    store
      .markSandboxRunning(sessionId, folderId)
      .catch((cause: unknown) =>
        log.debug({ err: cause, session_id: sessionId }, 'the state of a sandbox was not recorded'),
      )
