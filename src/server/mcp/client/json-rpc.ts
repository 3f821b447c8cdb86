import { rpcCodes } from '../../http/json-rpc-error.ts'
import { isRecord, type Json, jsonOr, recordOf, textOf } from '../../platform/json.ts'

/** A message of JSON-RPC that is not a batch. */
export type RpcMessage = Json

/** Error response of a server to a request. */
export class RpcFailure extends Error {
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.name = 'RpcFailure'
    this.code = code
    this.data = data
  }
}

const maxErrorText = 1_000

/** Returns the error of a response; undefined for a result. */
export function failureIn(message: RpcMessage): RpcFailure | undefined {
  if (!isRecord(message['error'])) return undefined
  const { code, message: text, data } = message['error']
  return new RpcFailure(typeof code === 'number' ? code : rpcCodes.internal, textOf(text).slice(0, maxErrorText), data)
}

/** True for a result or an error. */
export const isResponse = (message: RpcMessage): boolean =>
  !('method' in message) && ('result' in message || 'error' in message)

/** Returns the messages of a JSON text: none for other texts, several for a batch. */
export function messagesIn(text: string): readonly RpcMessage[] {
  const value = jsonOr(text, undefined)
  return Array.isArray(value) ? value.filter(isRecord) : isRecord(value) ? [value] : []
}

/** Returns the result of a response. Throws its error. */
export function resultOf(message: RpcMessage): Json {
  const failure = failureIn(message)
  if (failure) throw failure
  return recordOf(message['result'])
}

/** Returns the error response for a failure of a server. */
export const failureResponse = ({ code, message, data }: RpcFailure, id: unknown): Json => ({
  jsonrpc: '2.0',
  id,
  error: { code, message, ...(data !== undefined && { data }) },
})
