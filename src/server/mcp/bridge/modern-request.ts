import { rpcCodes } from '../../http/json-rpc-error.ts'
import { isRecord, recordOf, textOf } from '../../platform/json.ts'
import { RpcFailure, type RpcMessage } from '../client/json-rpc.ts'
import { mirroredName, plainValue } from '../client/mirrored-headers.ts'
import { metaKeys, modernVersion } from '../client/modern.ts'
import { logLevels } from './messages.ts'

/** Returns a header of the request by its lower-case name. */
export type HeaderOf = (name: string) => string | undefined

/** True for a request of the modern era: it carries its revision, in the body or only in the header. */
export const isModern = ({ method, params }: RpcMessage, header: HeaderOf): boolean =>
  method === 'server/discover' ||
  metaKeys.version in recordOf(recordOf(params)['_meta']) ||
  header('mcp-protocol-version') === modernVersion

/**
 * Throws RpcFailure for a request that a modern server must reject: fields of `_meta` that are missing or wrong, and
 * headers that are missing or differ from the body. Dialects: section 6.1, rule 2.
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
    ['mcp-name', mirroredName(method, params)],
  ])
  if (version !== modernVersion)
    throw new RpcFailure(rpcCodes.unsupportedVersion, 'unsupported protocol version', {
      supported: [modernVersion],
      requested: version.slice(0, 40),
    })
  if (!isRecord(meta[metaKeys.capabilities])) throw missing(metaKeys.capabilities)
  if (level !== undefined && !logLevels.some(each => each === level))
    throw new Malformed(
      rpcCodes.invalidParams,
      `params._meta.${metaKeys.logLevel} must be one of ${logLevels.join(', ')}`,
    )
}

function checkHeaders(header: HeaderOf, expected: readonly (readonly [name: string, value: unknown])[]): void {
  for (const [name, value] of expected) {
    const given = header(name)
    // Without a name in the body the request fails as invalid later, whatever its header is.
    if (value === undefined || (given !== undefined && plainValue(given) === value)) continue
    const problem = given === undefined ? 'is missing' : 'differs from the body'
    throw new RpcFailure(rpcCodes.headerMismatch, `header ${name} ${problem}`)
  }
}

const missing = (field: string): Malformed => new Malformed(rpcCodes.invalidParams, `params._meta must have ${field}`)

/** A request whose `_meta` lacks a field or has an invalid one. Its status is 400. */
export class Malformed extends RpcFailure {}
