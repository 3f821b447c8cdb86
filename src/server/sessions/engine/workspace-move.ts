import type { NewEvent } from '../../../contract/events.ts'
import { AppError, DatabaseUnavailable } from '../../platform/errors.ts'
import type { Runtime } from '../../runtimes/runtime.ts'
import type { RestoredFiles, Workspaces } from '../../workspaces/workspaces.ts'
import { type EventLog, whileHeld } from '../log/event-log.ts'
import type { RunRow } from '../session-row.ts'
import type { SessionStore } from '../session-store.ts'
import type { HeldSession } from './leases.ts'
import { leftOutWarning } from './workspace-words.ts'

export interface MoveDeps {
  readonly workspaces: Pick<Workspaces, 'restore'>
  readonly sessions: Pick<SessionStore, 'setDataFolder'>
  readonly eventLog: Pick<EventLog, 'append'>
  /** The data folder of this process; undefined when it cannot tell. */
  readonly folderId: string | undefined
}

/** The files of a session that an older release made: no checkpoint holds them. */
const moved: NewEvent = {
  type: 'session.warning',
  warning: {
    type: 'workspace_elsewhere',
    message:
      'the tools of this session last ran with another data folder, and no checkpoint holds the files that they left there: ' +
      'they are missing here',
  },
}

interface Moving {
  readonly held: HeldSession
  readonly row: RunRow
  readonly runtime: Pick<Runtime, 'workspace'>
}

/**
 * Brings the files of a session to its last checkpoint before a run goes on, and says in the log what was restored. Rejects with
 * `unavailable` when that is not possible: no run may work on other files.
 */
export async function readyWorkspace(deps: MoveDeps, { held, row, runtime }: Moving): Promise<void> {
  if (!runtime.workspace) return
  const restored = await whileHeld(held, () => deps.workspaces.restore(row).catch(explain))
  const { folderId } = deps
  const isElsewhere = folderId !== undefined && row.data_folder !== null && row.data_folder !== folderId
  const events = restored ? restoredEvents(restored) : []
  if (isElsewhere && row.checkpoint_id === null) events.push(moved)
  if (events.length === 0) return
  await deps.eventLog.append(held, events, async client => {
    if (folderId !== undefined) await deps.sessions.setDataFolder(client, held, folderId)
  })
}

function explain(cause: unknown): never {
  if (cause instanceof DatabaseUnavailable) throw cause
  const message =
    'the files of the session could not be restored; see the log of the server, then send the prompt again'
  throw new AppError('unavailable', message, { cause })
}

function restoredEvents({ checkpointId, seq, files, bytes, leftOut }: RestoredFiles): NewEvent[] {
  const restored = {
    type: 'session.workspace_restored',
    checkpoint_id: checkpointId,
    checkpoint_seq: seq,
    files,
    bytes,
  }
  return leftOut.length === 0
    ? [restored]
    : [restored, leftOutWarning(leftOut, 'not restored, since no checkpoint holds them')]
}
