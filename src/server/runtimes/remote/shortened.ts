import type { Json } from '../../platform/json.ts'

/** Longest text of one event, in characters. A session's log is limited to 50 MiB. */
const maxText = 200_000
const maxInput = 1_000_000

/** Returns the text, or its start and end with a note of how much was cut out between them. */
export function shortened(text: string, limit: number = maxText): string {
  if (text.length <= limit) return text
  const half = Math.floor(limit / 2)
  // Half of a surrogate pair is not valid UTF-8.
  const head = text.slice(0, half).replace(/[\ud800-\udbff]$/, '')
  const tail = text.slice(-half).replace(/^[\udc00-\udfff]/, '')
  return `${head}\n[... ${text.length - head.length - tail.length} characters cut out ...]\n${tail}`
}

/** Returns the arguments of a tool call; above 1,000,000 characters of JSON they become a shortened text. */
export function shortInput(input: Json): Json {
  const text = JSON.stringify(input)
  return text.length <= maxInput ? input : { cut_arguments: shortened(text) }
}
