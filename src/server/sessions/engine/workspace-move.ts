import type { NewEvent } from '../../../contract/events.ts'
import { AppError, DatabaseUnavailable } from '../../platform/errors.ts'
import type { Runtime } from '../../runtimes/runtime.ts'
import type { RestoredFiles, Workspaces } from '../../workspaces/workspaces.ts'
import { type EventLog, whileLeased } from '../log/event-log.ts'
import type { RunRow } from '../session-row.ts'
import type { SessionStore } from '../session-store.ts'
import type { LeasedSession } from './leases.ts'
import { leftOutWarning } from './workspace-warnings.ts'

export interface MoveDeps {
  readonly workspaces: Pick<Workspaces, 'restore'>
  readonly sessions: Pick<SessionStore, 'setDataFolder'>
  readonly eventLog: Pick<EventLog, 'append'>
  /** Id of this process's data folder; undefined when the folder has no id. */
  readonly folderId: string | undefined
}

/** Warning for a session of an older release, whose files are in no checkpoint. */
const moved: NewEvent = {
  type: 'session.warning',
  warning: {
    type: 'workspace_elsewhere',
    message:
      'the tools of this session last ran in another data folder, and no checkpoint has the files from there: ' +
      'they are missing here',
  },
}

interface Moving {
  readonly leased: LeasedSession
  readonly row: RunRow
  readonly runtime: Pick<Runtime, 'workspace'>
}

/**
 * Restores the files of a session to its last checkpoint before a run starts, and logs what was restored. Rejects with
 * `unavailable` when that fails, because no run may work on other files.
 */
export async function readyWorkspace(deps: MoveDeps, { leased, row, runtime }: Moving): Promise<void> {
  if (!runtime.workspace) return
  const restored = await whileLeased(leased, () => deps.workspaces.restore(row).catch(explain))
  const { folderId } = deps
  const isElsewhere = folderId !== undefined && row.data_folder !== null && row.data_folder !== folderId
  const events = restored ? restoredEvents(restored) : []
  if (isElsewhere && row.checkpoint_id === null) events.push(moved)
  if (events.length === 0) return
  await deps.eventLog.append(leased, events, async client => {
    if (folderId !== undefined) await deps.sessions.setDataFolder(client, leased, folderId)
  })
}

function explain(cause: unknown): never {
  if (cause instanceof DatabaseUnavailable) throw cause
  const message = 'cannot restore the files of the session; see the server log, then send the prompt again'
  throw new AppError('unavailable', message, { cause })
}

function restoredEvents({ checkpointId, seq, files, bytes, leftOut }: RestoredFiles): NewEvent[] {
  const restored: NewEvent = {
    type: 'session.workspace_restored',
    checkpoint_id: checkpointId,
    checkpoint_seq: seq,
    files,
    bytes,
  }
  return leftOut.length === 0 ? [restored] : [restored, leftOutWarning(leftOut, 'not restored: no checkpoint has them')]
}
