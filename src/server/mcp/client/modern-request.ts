import { rpcCodes } from '../../http/json-rpc-error.ts'
import { isRecord, recordOf, textOf } from '../../platform/json.ts'
import { RpcFailure, type RpcMessage } from './json-rpc.ts'
import { mirroredName, plainValue } from './mirrored-headers.ts'
import { metaKeys, modernVersion } from './modern.ts'

// What every server of the modern era checks of the requests of its clients, be it this service or one that it stands for.

/** Returns a header of the request by its lower-case name. */
export type HeaderOf = (name: string) => string | undefined

/** True for a request that carries a revision of the modern era. */
export const hasRevision = ({ params }: RpcMessage): boolean => metaKeys.version in recordOf(recordOf(params)['_meta'])

/** True for a request of the modern era, whose first one may lack the revision. */
export const isModern = (message: RpcMessage): boolean =>
  message['method'] === 'server/discover' || hasRevision(message)

/** True for a request of the modern era that may carry its revision only in the header. */
export const isModernHere = (message: RpcMessage, header: HeaderOf): boolean =>
  isModern(message) || header('mcp-protocol-version') === modernVersion

/** Levels of log messages, the least severe first. */
export const logLevels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const

/**
 * Throws RpcFailure for a request that a modern server must reject: fields of `_meta` that are missing or wrong, a revision that is
 * not served, and headers that are missing or differ from the body.
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
class Malformed extends RpcFailure {}

function checkRevision(version: unknown): void {
  if (version === modernVersion) return
  throw new RpcFailure(rpcCodes.unsupportedVersion, 'unsupported protocol version', {
    supported: [modernVersion],
    requested: textOf(version).slice(0, 40),
  })
}

/**
 * Throws RpcFailure for a header that is missing or differs from the body. A value that the body lacks is not compared.
 * Dialects: section 6.1, rule 2.
 */
export function checkHeaders(header: HeaderOf, expected: readonly (readonly [name: string, value: unknown])[]): void {
  for (const [name, value] of expected) {
    const given = header(name)
    if (value === undefined || (given !== undefined && plainValue(given) === value)) continue
    const problem = given === undefined ? 'is missing' : 'differs from the body'
    throw new RpcFailure(rpcCodes.headerMismatch, `header ${name} ${problem}`)
  }
}

const statuses: Readonly<Record<number, number>> = {
  [rpcCodes.unknownMethod]: 404,
  [rpcCodes.headerMismatch]: 400,
  [rpcCodes.missingCapability]: 400,
  [rpcCodes.unsupportedVersion]: 400,
}

/** Returns the status of an error of the modern transport. */
export const statusOfFailure = (failure: RpcFailure): number =>
  failure instanceof Malformed ? 400 : statusOfModern(failure.code)

/** Status of the code of an error of the modern transport; other errors are responses with status 200. */
export const statusOfModern = (code: number): number => statuses[code] ?? 200
