import { stripVTControlCharacters } from 'node:util'

/** Control characters except tab and newline, and bidirectional control characters. */
const controls = /(?![\t\n])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu

/**
 * Returns `text` without terminal control sequences: text of a model, tool or caller must not move the cursor, change
 * the title or clipboard, or hide itself. Tabs and newlines stay. Security: S44.
 */
export function plainText(text: string): string {
  return stripVTControlCharacters(text).replaceAll('\r\n', '\n').replaceAll(controls, '')
}

/** Returns `text` as plain text on one line, truncated to `maxLength` characters. */
export function plainLine(text: string, maxLength: number): string {
  const characters = [...plainText(text).replaceAll(/\s+/g, ' ').trim()]
  return characters.length <= maxLength ? characters.join('') : `${characters.slice(0, maxLength - 1).join('')}…`
}

/** Returns JSON on one line, with all control characters escaped. */
export function plainJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(controls, found => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
