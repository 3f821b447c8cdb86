import type { Log } from '../platform/log.ts'
import type { SessionStore } from './session-store.ts'

interface Deps {
  readonly store: Pick<SessionStore, 'markSandboxRunning'>
  /** Id of this process's data folder; undefined when the folder has no id. */
  readonly folderId: string | undefined
  readonly log: Log
}

/** Records that tools of a session run. The record is informational: a failed write never fails the run. */
export const createSandboxMark =
  ({ store, folderId, log }: Deps) =>
  (sessionId: string): Promise<void> =>
    store
      .markSandboxRunning(sessionId, folderId)
      .catch((cause: unknown) =>
        log.debug({ err: cause, session_id: sessionId }, 'cannot record the state of a sandbox'),
      )

export type SandboxMark = ReturnType<typeof createSandboxMark>
