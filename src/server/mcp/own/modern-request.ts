import { rpcCodes } from '../../http/json-rpc-error.ts'
import { isRecord, recordOf, textOf } from '../../platform/json.ts'
import { RpcFailure, type RpcMessage } from '../client/json-rpc.ts'
import { mirroredName, plainValue } from '../client/mirrored-headers.ts'
import { metaKeys, modernVersion } from '../client/modern.ts'

/** True for a request of the modern era, which carries its revision. */
export const isModern = ({ method, params }: RpcMessage): boolean =>
  method === 'server/discover' || metaKeys.version in recordOf(recordOf(params)['_meta'])

/** Throws RpcFailure for a revision that is not served, and for headers that differ from the body. Dialects: section 6.1, rule 2. */
export function checkModern({ method, params }: RpcMessage, header: (name: string) => string | undefined): void {
  const name = textOf(method)
  const meta = recordOf(recordOf(params)['_meta'])
  const version = meta[metaKeys.version]
  if (version !== modernVersion)
    throw new RpcFailure(rpcCodes.unsupportedVersion, 'unsupported protocol version', {
      supported: [modernVersion],
      requested: textOf(version).slice(0, 40),
    })
  checkHeader(header, 'mcp-protocol-version', version)
  checkHeader(header, 'mcp-method', name)
  const mirrored = mirroredName(name, recordOf(params))
  if (mirrored !== undefined) checkHeader(header, 'mcp-name', mirrored)
  // Only proxies need the task's id, and not every client sends it.
  if (name.startsWith('tasks/') && header('mcp-name') !== undefined)
    checkHeader(header, 'mcp-name', recordOf(params)['taskId'])
  if (!isRecord(meta[metaKeys.capabilities]))
    throw new RpcFailure(rpcCodes.invalidParams, `params._meta must have ${metaKeys.capabilities}`)
}

function checkHeader(header: (name: string) => string | undefined, name: string, expected: unknown): void {
  const given = header(name)
  if (given !== undefined && plainValue(given) === expected) return
  const problem = given === undefined ? 'is missing' : 'differs from the body'
  throw new RpcFailure(rpcCodes.headerMismatch, `header ${name} ${problem}`)
}
