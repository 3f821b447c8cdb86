import type { Log } from '../platform/log.ts'
import type { EgressSession } from './inner-host.ts'
import type { Place } from './place.ts'

/** One request, or one tunnel from its start to its end. */
export interface Connection extends Place {
  /** `CONNECT` for a tunnel. */
  readonly method: string
  readonly outcome: 'allowed' | 'denied' | 'failed'
  /** Why it was denied or failed. */
  readonly reason?: string
  /** Status of the response. */
  readonly status?: number
  /** Bytes from the sandbox, and to it. */
  readonly sent?: number
  readonly received?: number
}

/** Records a connection. */
export type RecordConnection = (connection: Connection) => void

/** Returns a function that writes connections to the log: no paths, headers or bodies. */
export const createConnectionLog =
  (log: Pick<Log, 'info'>, { id, agent_id }: EgressSession): RecordConnection =>
  ({ sent, received, ...connection }) =>
    log.info(
      { session_id: id, agent_id, ...connection, bytes_sent: sent, bytes_received: received },
      'network connection of a sandbox',
    )
