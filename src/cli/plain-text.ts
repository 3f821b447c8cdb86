import { stripVTControlCharacters } from 'node:util'

/** Control characters but tab and newline, and those that turn the direction of text around. */
const controls = /(?![\t\n])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu

/**
 * `text` without anything that a terminal would act on: what a model, a tool or a caller wrote must not move the
 * cursor, change the title or the clipboard, or hide itself. Tabs and newlines stay. Security: S44.
 */
export function plainText(text: string): string {
  return stripVTControlCharacters(text).replaceAll('\r\n', '\n').replaceAll(controls, '')
}

/** `text` as plain text on one line, cut to `maxLength` characters. */
export function plainLine(text: string, maxLength: number): string {
  const characters = [...plainText(text).replaceAll(/\s+/g, ' ').trim()]
  return characters.length <= maxLength ? characters.join('') : `${characters.slice(0, maxLength - 1).join('')}…`
}

/** JSON on one line, with the control characters escaped that JSON itself lets through. */
export function plainJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(controls, found => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
