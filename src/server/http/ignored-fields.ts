import type { TSchema } from 'typebox'
import { meantBy, unknownFields } from './unknown-fields.ts'

/** The header that names fields of a request which had no effect. Rulings: 2. */
export const ignoredHeader = 'x-switchyard-ignored'

const sendable = /^[A-Za-z0-9_.[\]-]{1,64}$/
const maxNames = 20
const maxBytes = 1024
/** Room for `, +n`. */
const restBytes = 12

/** A field that had no effect, and the one that was probably meant. */
export interface IgnoredField {
  readonly name: string
  readonly known?: readonly string[]
}

/** The members of `body` that `schema` does not know. It does not look into what the members hold. */
export const ignoredIn = (schema: TSchema, body: unknown): IgnoredField[] =>
  [...unknownFields(schema, body, false)].map(({ path, known }) => ({ name: path, known }))

/** `promt (did you mean prompt?), colour, +3`; undefined without any. Names that no header should carry are counted only. */
export function ignoredValue(fields: readonly IgnoredField[]): string | undefined {
  if (fields.length === 0) return undefined
  const words: string[] = []
  let bytes = 0
  for (const { name, known = [] } of fields) {
    if (words.length === maxNames) break
    if (!sendable.test(name)) continue
    const meant = meantBy(name, known)
    const word = meant === undefined ? name : `${name} (did you mean ${meant}?)`
    if (bytes + word.length + 2 > maxBytes - restBytes) break
    words.push(word)
    bytes += word.length + 2
  }
  const rest = fields.length - words.length
  return [...words, ...(rest > 0 ? [`+${rest}`] : [])].join(', ')
}
