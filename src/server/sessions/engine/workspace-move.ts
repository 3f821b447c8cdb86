import type { NewEvent } from '../../../contract/events.ts'
import type { EventLog } from '../log/event-log.ts'
import type { RunRow, SessionStore } from '../session-store.ts'
import type { HeldSession } from './leases.ts'

export interface MoveDeps {
  readonly sessions: Pick<SessionStore, 'setDataFolder'>
  readonly eventLog: Pick<EventLog, 'append'>
  /** The data folder of this process; undefined when it cannot tell. */
  readonly folderId: string | undefined
}

const moved: NewEvent = {
  type: 'session.warning',
  warning: {
    type: 'workspace_elsewhere',
    message:
      'the tools of this session last ran with another data folder: files that they left there are missing here; ' +
      'put the data folders of all replicas on one shared volume',
  },
}

/** Tells the readers of a session, once a move, that its tools now work without the files that they have made. */
export async function tellOfMove(
  { sessions, eventLog, folderId }: MoveDeps,
  { held, row }: { readonly held: HeldSession; readonly row: Pick<RunRow, 'data_folder'> },
): Promise<void> {
  if (folderId === undefined || row.data_folder === null || row.data_folder === folderId) return
  await eventLog.append(held, [moved], client => sessions.setDataFolder(client, held, folderId))
}
