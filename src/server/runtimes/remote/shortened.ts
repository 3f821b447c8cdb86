import type { Json } from '../../platform/json.ts'

/** Longest text of one event, in characters: a log holds 50 MiB. */
const maxText = 200_000
const maxInput = 1_000_000

/** The text itself, or its first and last part with a word between them on what was cut out. */
export function shortened(text: string, limit: number = maxText): string {
  if (text.length <= limit) return text
  const half = Math.floor(limit / 2)
  // No half of a surrogate pair: such text is no UTF-8.
  const head = text.slice(0, half).replace(/[\ud800-\udbff]$/, '')
  const tail = text.slice(-half).replace(/^[\udc00-\udfff]/, '')
  return `${head}\n[... ${text.length - head.length - tail.length} characters cut out ...]\n${tail}`
}

/** Arguments of a tool call; those of an unusual size as a text that is cut. */
export function shortInput(input: Json): Json {
  const text = JSON.stringify(input)
  return text.length <= maxInput ? input : { cut_arguments: shortened(text) }
}
