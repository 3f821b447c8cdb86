import { fieldPathPattern } from '../../contract/webhooks.ts'

/** A value of the payload by its path, such as `issue.labels.0.name`; undefined where there is none. */
export function valueAt(payload: unknown, path: string): unknown {
  let value = payload
  for (const step of path.split('.')) {
    // Own members alone: `constructor` and the like are no fields.
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Readonly<Record<string, unknown>>)[step]
  }
  return value
}

/** How a value stands in a message: text and numbers as they are, nothing for null, anything else as indented JSON. */
export function textOfValue(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return storable(value)
  return JSON.stringify(value, null, 2)
}

/** Without what the database cannot hold: U+0000 and halves of surrogate pairs. */
export const storable = (text: string): string => text.replaceAll('\0', '\u{fffd}').toWellFormed()

const placeholder = new RegExp(`\\{\\{\\s*(${fieldPathPattern})\\s*\\}\\}`, 'g')

/**
 * The template with fields of the payload in the place of `{{path.to.field}}`; undefined when it would be longer than `limit`
 * characters, which is counted before anything is joined. Nothing is evaluated: what is no path stays as it is, and braces
 * inside the payload are text. Security: S33.
 */
export function filledTemplate(template: string, payload: unknown, limit: number): string | undefined {
  const texts = new Map<string, string>()
  const parts: string[] = []
  let length = 0
  let from = 0
  const add = (part: string): boolean => {
    parts.push(part)
    length += part.length
    return length <= limit
  }
  for (const { 0: written, 1: path = '', index } of template.matchAll(placeholder)) {
    // A field that is named a thousand times is written out once.
    const text = texts.get(path) ?? textOfValue(valueAt(payload, path))
    texts.set(path, text)
    if (!(add(template.slice(from, index)) && add(text))) return undefined
    from = index + written.length
  }
  return add(template.slice(from)) ? parts.join('') : undefined
}
