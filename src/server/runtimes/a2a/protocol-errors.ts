import { isRecord, type Json, nonEmptyText, recordOf, recordsOf } from '../../platform/json.ts'
import type { ErrorDetails } from '../remote/connection.ts'
import { RuntimeFailure } from '../runtime.ts'

/** Names and HTTP statuses of the JSON-RPC codes. Source: A2A 1.0, section 5.4. */
const ofRpc: ReadonlyMap<unknown, { readonly code: string; readonly status: number }> = new Map([
  [-32001, { code: 'TASK_NOT_FOUND', status: 404 }],
  [-32002, { code: 'TASK_NOT_CANCELABLE', status: 409 }],
  [-32003, { code: 'PUSH_NOTIFICATION_NOT_SUPPORTED', status: 400 }],
  [-32004, { code: 'UNSUPPORTED_OPERATION', status: 400 }],
  [-32005, { code: 'CONTENT_TYPE_NOT_SUPPORTED', status: 415 }],
  [-32006, { code: 'INVALID_AGENT_RESPONSE', status: 502 }],
  [-32009, { code: 'VERSION_NOT_SUPPORTED', status: 400 }],
  [-32600, { code: 'INVALID_REQUEST', status: 400 }],
  [-32601, { code: 'METHOD_NOT_FOUND', status: 404 }],
  [-32602, { code: 'INVALID_PARAMS', status: 400 }],
  [-32700, { code: 'PARSE_ERROR', status: 400 }],
])

/** Reads an error body of either binding. The code is the name of the error. */
export function errorIn(body: unknown): ErrorDetails {
  const { error } = recordOf(body)
  return isRecord(error) ? detailsOf(error) : { message: nonEmptyText(error) }
}

function detailsOf({ code, message, data, details }: Json): ErrorDetails {
  const reason = [...recordsOf(data), ...recordsOf(details)]
    .map(detail => nonEmptyText(detail['reason']))
    .find(name => name !== undefined)
  return { code: reason ?? ofRpc.get(code)?.code, message: nonEmptyText(message) }
}

/** Returns the failure of a JSON-RPC error in a response with status 200. `clean` prepares its text for the log. */
export function rpcFailure(error: Json, clean: (text: string) => string): RuntimeFailure {
  const { code, message = '' } = detailsOf(error)
  const words = clean(message)
  return new RuntimeFailure(
    'model_request_failed_error',
    `the agent rejected the request${words === '' ? '' : `: ${words}`}`,
    {
      code,
      // Any other code may mean that the agent failed halfway.
      status: ofRpc.get(error['code'])?.status ?? 500,
    },
  )
}

/** Reports whether the agent answered with one of these errors. */
export const isFailureOf = (error: unknown, ...codes: readonly string[]): error is RuntimeFailure =>
  error instanceof RuntimeFailure && error.code !== undefined && codes.includes(error.code)

const unusableCode = 'UNUSABLE'

/** Returns a failure that no other try repairs: a card, a credential or an answer that cannot be used. */
export const unusable = (message: string): RuntimeFailure =>
  new RuntimeFailure('model_request_failed_error', message, { code: unusableCode })

export const isUnusable = ({ code }: RuntimeFailure): boolean => code === unusableCode
