import { cutToWidth } from './text-width.ts'

/** Control characters except tab and newline, and bidirectional control characters. */
const controls = /(?![\t\n])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu

/**
 * Control sequences (CSI), strings with their terminator (such as OSC) and other escapes. `stripVTControlCharacters` of Node takes
 * quadratic time for strings without a terminator.
 */
const sequences =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: terminal codes are control characters
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b[PX\]^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u0080-\u009f]*(?:\u0007|\u001b\\|\u009c)|\u001b[ -/]*[0-~]?/g

/**
 * Returns `text` without terminal control sequences: text of a model, tool or caller must not move the cursor, change
 * the title or clipboard, or hide itself. Tabs and newlines stay. Security: S44.
 */
export function plainText(text: string): string {
  return text.replaceAll(sequences, '').replaceAll('\r\n', '\n').replaceAll(controls, '')
}

/** Returns `text` as plain text on one line, cut to `maxWidth` columns of a terminal. */
export const plainLine = (text: string, maxWidth: number): string =>
  cutToWidth(plainText(text).replaceAll(/\s+/g, ' ').trim(), maxWidth)

/** Returns JSON on one line, with all control characters escaped. */
export function plainJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(controls, found => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
