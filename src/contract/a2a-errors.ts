import { Type } from 'typebox'
import { type ErrorCode, statusOfCode } from './error-codes.ts'
import { googleStatusOf } from './gemini.ts'
import { named } from './named.ts'
import { JsonObject } from './schemas.ts'

/** JSON-RPC code of each error that A2A defines and this service returns, by its name in `ErrorInfo`. */
const rpcCodes = {
  TASK_NOT_FOUND: -32001,
  TASK_NOT_CANCELABLE: -32002,
  UNSUPPORTED_OPERATION: -32004,
  CONTENT_TYPE_NOT_SUPPORTED: -32005,
  VERSION_NOT_SUPPORTED: -32009,
  PARSE_ERROR: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
} as const

export type A2aReason = keyof typeof rpcCodes

/** Errors of JSON-RPC itself, which A2A does not name. */
const ofJsonRpc: readonly string[] = ['PARSE_ERROR', 'INVALID_REQUEST', 'METHOD_NOT_FOUND']

/** Codes of all other errors. The range below -32000 is for servers. */
const otherRpcCodes: Partial<Record<ErrorCode, number>> = {
  invalid_request: -32602,
  internal: -32603,
  unavailable: -32603,
  overloaded: -32603,
}
const serverError = -32000

/** An error as the service throws it: `reason` and further facts are in `fields`. */
interface Thrown {
  readonly code: ErrorCode
  readonly message: string
  readonly fields: Readonly<Record<string, string>>
}

const isA2aReason = (reason: string | undefined): reason is A2aReason => reason !== undefined && reason in rpcCodes

/** Returns the `google.rpc.ErrorInfo` of an error that A2A defines; empty for others. */
function detailsOf({ reason, ...metadata }: Thrown['fields']): object[] {
  if (!isA2aReason(reason) || ofJsonRpc.includes(reason)) return []
  const info = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'a2a-protocol.org' }
  return [{ ...info, ...(Object.keys(metadata).length > 0 && { metadata }) }]
}

/** `google.rpc.Status`, on the paths of A2A's HTTP+JSON binding. */
export const A2aError = named(
  'A2aError',
  Type.Object({
    error: Type.Object({
      code: Type.Integer(),
      status: Type.String(),
      message: Type.String(),
      details: Type.Array(JsonObject),
    }),
  }),
)

/** Returns an error of the HTTP+JSON binding. */
export const a2aError = ({ code, message, fields }: Thrown) => ({
  error: { code: statusOfCode(code), status: googleStatusOf(code), message, details: detailsOf(fields) },
})

export const A2aRpcError = named(
  'A2aRpcError',
  Type.Object({
    jsonrpc: Type.Literal('2.0'),
    id: Type.Union([Type.String(), Type.Number(), Type.Null()]),
    error: Type.Object({ code: Type.Integer(), message: Type.String(), data: Type.Array(JsonObject) }),
  }),
)

/** Returns an error of the JSON-RPC binding. */
export function a2aRpcError({ code, message, fields }: Thrown, id: string | number | null) {
  const { reason } = fields
  const rpcCode = isA2aReason(reason) ? rpcCodes[reason] : (otherRpcCodes[code] ?? serverError)
  return { jsonrpc: '2.0', id, error: { code: rpcCode, message, data: detailsOf(fields) } } as const
}
