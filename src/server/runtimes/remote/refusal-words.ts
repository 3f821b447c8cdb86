import { isRecord, jsonOr, nonEmptyText, recordOf } from '../../platform/json.ts'

const maxDepth = 4

/**
 * What a refusal says, wherever its server puts that: `message`, `error`, `detail`, `reason`, `data` or the first of
 * `errors`, or the whole body when it is text. Undefined for markup and for what says nothing.
 */
export function refusalWords(body: string): string | undefined {
  const parsed = jsonOr(body, undefined)
  if (parsed !== undefined) return wordsIn(parsed, maxDepth)
  return body.trimStart().startsWith('<') ? undefined : nonEmptyText(body.trim())
}

const places = ['message', 'error', 'detail', 'reason', 'data', 'errors', 'issues']

function wordsIn(value: unknown, depth: number): string | undefined {
  if (depth === 0) return undefined
  if (Array.isArray(value)) return wordsIn(value[0], depth - 1)
  if (!isRecord(value)) return nonEmptyText(value)
  const record = recordOf(value)
  for (const place of places) {
    const words = wordsIn(record[place], depth - 1)
    if (words !== undefined) return words
  }
  return undefined
}
