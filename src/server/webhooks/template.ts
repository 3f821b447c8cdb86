import { fieldPathPattern } from '../../contract/webhooks.ts'

/** Returns a value of the payload by path, such as `issue.labels.0.name`; undefined if it does not exist. */
export function valueAt(payload: unknown, path: string): unknown {
  let value = payload
  for (const step of path.split('.')) {
    // Own members only: `constructor` and the like are not fields.
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Readonly<Record<string, unknown>>)[step]
  }
  return value
}

/** Returns the text of a value in a message: strings and numbers unchanged, empty for null, others as indented JSON. */
export function textOfValue(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return storable(value)
  return JSON.stringify(value, null, 2)
}

/** Replaces characters that the database cannot store: U+0000 and unpaired surrogates. */
export const storable = (text: string): string => text.replaceAll('\0', '\u{fffd}').toWellFormed()

const placeholder = new RegExp(`\\{\\{\\s*(${fieldPathPattern})\\s*\\}\\}`, 'g')

/**
 * Replaces each `{{path.to.field}}` in the template by the payload's field. Returns undefined when the result would
 * exceed `limit` characters, which is counted before joining. Nothing is evaluated: other braces, also in the payload,
 * stay text. Security: S33.
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
    // Cached, because a template can use the same field many times.
    const text = texts.get(path) ?? textOfValue(valueAt(payload, path))
    texts.set(path, text)
    if (!(add(template.slice(from, index)) && add(text))) return undefined
    from = index + written.length
  }
  return add(template.slice(from)) ? parts.join('') : undefined
}
