import type { Caller } from '../../http/caller.ts'
import type { RpcMessage } from '../client/json-rpc.ts'
import type { RegisteredServer, ToolRule } from '../registry/server.ts'

/** One checked request of a client to a server of the other era. */
export interface BridgeRequest {
  readonly server: RegisteredServer
  readonly caller: Caller
  readonly rule: ToolRule
  readonly message: RpcMessage
  /** Aborts when the client disconnects or cancels, its key is revoked, or the process stops. */
  readonly signal: AbortSignal
}
