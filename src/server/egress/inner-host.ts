import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RunSession } from '../runtimes/runtime.ts'

/** The session whose sandbox sends a request. */
export interface EgressSession
  extends Pick<RunSession, 'id' | 'owner_id' | 'agent_id' | 'config' | 'reachesGlobalVault' | 'environment'> {
  /** Where its network is set; `config.network` of its agent by default. */
  readonly networkSetting?: NetworkSetting
}

/** Names the place of a network setting in messages. */
export interface NetworkSetting {
  readonly field: string
  readonly owner: string
}

/** A host name that only sandboxes can reach, and that the server answers itself. */
export interface InnerHost {
  /** Lower case, below `.switchyard.internal`; reached with plain HTTP on port 80. */
  readonly name: string
  /** True if the sandboxes of this session may reach it. */
  isFor(session: EgressSession): boolean
  /** Answers a request. `url` of the request is a path; nothing in the request identifies the session. */
  serve(request: IncomingMessage, response: ServerResponse, session: EgressSession): void
}
