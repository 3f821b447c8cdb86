import type { TSchema } from 'typebox'
import { suggestionFor, unknownFields } from './unknown-fields.ts'

/** Response header that lists fields of the request without effect. */
export const ignoredHeader = 'x-switchyard-ignored'

const sendable = /^[A-Za-z0-9_.[\]-]{1,64}$/
const maxNames = 20
const maxBytes = 1024
/** Reserved for `, +n`. */
const restBytes = 12

/** A field without effect, and the known fields in its place. */
export interface IgnoredField {
  readonly name: string
  readonly expected?: readonly string[]
}

/** Returns unknown top-level fields of `body`. */
export const ignoredIn = (schema: TSchema, body: unknown): IgnoredField[] =>
  [...unknownFields(schema, body, false)].map(({ path, expected }) => ({ name: path, expected }))

/**
 * Returns `promt (did you mean prompt?), colour, +3`; undefined without any. Names unsafe in a header are only counted.
 */
export function ignoredValue(fields: readonly IgnoredField[]): string | undefined {
  if (fields.length === 0) return undefined
  const words: string[] = []
  let bytes = 0
  for (const { name, expected = [] } of fields) {
    if (words.length === maxNames) break
    if (!sendable.test(name)) continue
    const suggestion = suggestionFor(name, expected)
    const word = suggestion === undefined ? name : `${name} (did you mean ${suggestion}?)`
    if (bytes + word.length + 2 > maxBytes - restBytes) break
    words.push(word)
    bytes += word.length + 2
  }
  const rest = fields.length - words.length
  return [...words, ...(rest > 0 ? [`+${rest}`] : [])].join(', ')
}
