import { rpcCodes } from '../../http/json-rpc-error.ts'
import { isRecord, recordOf, textOf } from '../../platform/json.ts'
import { RpcFailure, type RpcMessage } from '../client/json-rpc.ts'
import { mirroredName } from '../client/mirrored-headers.ts'
import { metaKeys } from '../client/modern.ts'
import { checkHeaders, checkRevision, type HeaderOf } from '../client/modern-request.ts'

/** Throws RpcFailure for a revision that is not served, and for headers that differ from the body. */
export function checkModern({ method, params }: RpcMessage, header: HeaderOf): void {
  const name = textOf(method)
  const { _meta, taskId } = recordOf(params)
  const meta = recordOf(_meta)
  const version = meta[metaKeys.version]
  checkRevision(version)
  checkHeaders(header, [
    ['mcp-protocol-version', version],
    ['mcp-method', name],
    ['mcp-name', mirroredName(name, recordOf(params))],
  ])
  // Only proxies need the task's id, and not every client sends it.
  if (name.startsWith('tasks/') && header('mcp-name') !== undefined) checkHeaders(header, [['mcp-name', taskId ?? '']])
  if (!isRecord(meta[metaKeys.capabilities]))
    throw new RpcFailure(rpcCodes.invalidParams, `params._meta must have ${metaKeys.capabilities}`)
}
