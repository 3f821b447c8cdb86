const escape = '\u001b'

/** Whole control sequences: of strings (OSC, DCS and the like) up to their end, of CSI, then of two characters. */
const sequences = new RegExp(
  [
    `(?:${escape}[\\]PX^_]|[\\u009d\\u0090\\u0098\\u009e\\u009f])[^\\u0007\\u001b\\u009c]{0,4096}(?:\\u0007|\\u009c|${escape}\\\\)`,
    `(?:${escape}\\[|\\u009b)[0-?]*[ -/]*[@-~]`,
    `${escape}[ -/]*[0-Z\\\\^-~]`,
  ].join('|'),
  'g',
)

/** Control characters but tab and newline, and those that turn the direction of text around. */
const controls = new RegExp('[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069]', 'g')

/**
 * `text` without anything that a terminal would act on: what a model, a tool or a caller wrote must not move the
 * cursor, change the title or the clipboard, or hide itself. Tabs and newlines stay. Security: S44.
 */
export function plainText(text: string): string {
  return text.replaceAll(sequences, '').replaceAll('\r\n', '\n').replaceAll(controls, '')
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
