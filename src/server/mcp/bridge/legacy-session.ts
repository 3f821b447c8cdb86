import { randomUUID } from 'node:crypto'
import type { Json } from '../../platform/json.ts'
import { jsonOr, recordOf, textOf } from '../../platform/json.ts'
import type { SessionIds, SessionPlace } from '../proxy/session-ids.ts'

/** Session of a legacy client at a modern server. Its id contains all of it, so that every process can serve it. */
export interface BridgedSession {
  /** Names the session within the service. */
  readonly id: string
  readonly version: string
  /** Capabilities of the client that servers may use. */
  readonly capabilities: Json
  /** Whether the server sends log messages. */
  readonly hasLogs: boolean
}

/** Marks ids of these sessions; those of relayed sessions have no dot. */
const prefix = 'bridge.'

/** Ids of the two kinds of sessions are no ids of the other kind. */
const placeOf = ({ server, principal }: SessionPlace): SessionPlace => ({
  server: { server_id: `${prefix}${server.server_id}`, url: server.url },
  principal,
})

/** True for an id of a bridged session, whether it is valid or not. */
export const isBridgedId = (id: string): boolean => id.startsWith(prefix)

/** Returns a new session and its id for the client. */
export function createSession(facts: Omit<BridgedSession, 'id'>, ids: SessionIds, place: SessionPlace) {
  const session: BridgedSession = { id: randomUUID(), ...facts }
  return { session, id: `${prefix}${ids.wrap(JSON.stringify(session), placeOf(place))}` }
}

/** Returns the session of an id. Throws `not_found` for an id of another principal or server. */
export function openSession(id: string, ids: SessionIds, place: SessionPlace): BridgedSession {
  const value = recordOf(jsonOr(ids.unwrap(id.slice(prefix.length), placeOf(place)), undefined))
  return {
    id: textOf(value['id']),
    version: textOf(value['version']),
    capabilities: recordOf(value['capabilities']),
    hasLogs: value['hasLogs'] === true,
  }
}
