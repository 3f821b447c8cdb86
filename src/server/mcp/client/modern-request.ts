import { rpcCodes } from '../../http/json-rpc-error.ts'
import { recordOf, textOf } from '../../platform/json.ts'
import { RpcFailure, type RpcMessage } from './json-rpc.ts'
import { plainValue } from './mirrored-headers.ts'
import { metaKeys, modernVersion } from './modern.ts'

// What every server of the modern era checks of the requests of its clients, be it this service or one that it stands for.

/** Returns a header of the request by its lower-case name. */
export type HeaderOf = (name: string) => string | undefined

/** True for a request that carries a revision of the modern era. */
export const hasRevision = ({ params }: RpcMessage): boolean => metaKeys.version in recordOf(recordOf(params)['_meta'])

/** True for a request of the modern era, whose first one may lack the revision. */
export const isModern = (message: RpcMessage): boolean =>
  message['method'] === 'server/discover' || hasRevision(message)

/** Throws RpcFailure for a revision that is not served. */
export function checkRevision(version: unknown): void {
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

/** Status of an error of the modern transport; other errors are responses with status 200. */
export const statusOfModern = (code: number): number => statuses[code] ?? 200
