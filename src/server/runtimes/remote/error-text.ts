import { isRecord, jsonOr, nonEmptyText, recordOf } from '../../platform/json.ts'

const maxDepth = 4

/**
 * Returns the message of an error body, from `message`, `error`, `detail`, `reason`, `data` or the first item of
 * `errors` or `issues`; the whole body when it is plain text. Undefined for markup and for a body without a message.
 */
export function errorTextIn(body: string): string | undefined {
  const parsed = jsonOr(body, undefined)
  if (parsed !== undefined) return messageIn(parsed, maxDepth)
  return body.trimStart().startsWith('<') ? undefined : nonEmptyText(body.trim())
}

const messageFields = ['message', 'error', 'detail', 'reason', 'data', 'errors', 'issues']

function messageIn(value: unknown, depth: number): string | undefined {
  if (depth === 0) return undefined
  if (Array.isArray(value)) return messageIn(value[0], depth - 1)
  if (!isRecord(value)) return nonEmptyText(value)
  const record = recordOf(value)
  for (const field of messageFields) {
    const message = messageIn(record[field], depth - 1)
    if (message !== undefined) return message
  }
  return undefined
}
