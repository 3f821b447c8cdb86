import { recordOf, textOf } from '../../platform/json.ts'
import type { RpcMessage } from '../client/json-rpc.ts'
import { checkHeaders, checkModernRequest, type HeaderOf } from '../client/modern-request.ts'

/** Throws RpcFailure for a request that a modern server must reject, also for the header that names another task than the body. */
export function checkModern(message: RpcMessage, header: HeaderOf): void {
  checkModernRequest(message, header)
  // Only proxies need the task's id, and not every client sends it.
  if (!textOf(message['method']).startsWith('tasks/') || header('mcp-name') === undefined) return
  checkHeaders(header, [['mcp-name', recordOf(message['params'])['taskId'] ?? '']])
}
