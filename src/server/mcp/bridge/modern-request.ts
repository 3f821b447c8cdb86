import { rpcCodes } from '../../http/json-rpc-error.ts'
import { isRecord, recordOf, textOf } from '../../platform/json.ts'
import { RpcFailure, type RpcMessage } from '../client/json-rpc.ts'
import { mirroredName } from '../client/mirrored-headers.ts'
import { metaKeys, modernVersion } from '../client/modern.ts'
import { checkHeaders, checkRevision, type HeaderOf, isModern } from '../client/modern-request.ts'
import { logLevels } from './messages.ts'

/** True for a request of the modern era: it carries its revision, in the body or only in the header. */
export const isModernHere = (message: RpcMessage, header: HeaderOf): boolean =>
  isModern(message) || header('mcp-protocol-version') === modernVersion

/**
 * Throws RpcFailure for a request that a modern server must reject: fields of `_meta` that are missing or wrong, and
 * headers that are missing or differ from the body.
 */
export function checkModernRequest(message: RpcMessage, header: HeaderOf): void {
  const method = textOf(message['method'])
  const params = recordOf(message['params'])
  const meta = recordOf(params['_meta'])
  const version = meta[metaKeys.version]
  const level = meta[metaKeys.logLevel]
  if (typeof version !== 'string') throw missing(metaKeys.version)
  checkHeaders(header, [
    ['mcp-protocol-version', version],
    ['mcp-method', method],
    // Without a name in the body the request fails as invalid later, whatever its header is.
    ['mcp-name', mirroredName(method, params)],
  ])
  checkRevision(version)
  if (!isRecord(meta[metaKeys.capabilities])) throw missing(metaKeys.capabilities)
  if (level !== undefined && !logLevels.some(each => each === level))
    throw new Malformed(
      rpcCodes.invalidParams,
      `params._meta.${metaKeys.logLevel} must be one of ${logLevels.join(', ')}`,
    )
}

const missing = (field: string): Malformed => new Malformed(rpcCodes.invalidParams, `params._meta must have ${field}`)

/** A request whose `_meta` lacks a field or has an invalid one. Its status is 400. */
export class Malformed extends RpcFailure {}
