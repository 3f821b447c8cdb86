/** Maximum length of a field on a terminal. */
const maxField = 300

/**
 * Converts a JSON log line to readable text: time, level, message, then `name=value` per field. Errors are shown with
 * their messages and those of their causes, without stacks.
 */
export function readableLine(json: string): string {
  const { level, time, msg, ...fields } = JSON.parse(json) as Entry
  const clock = typeof time === 'string' ? time.slice(11, 23) : ''
  const shown = Object.entries(fields).map(([name, value]) => `${name}=${fieldText(value)}`)
  return `${[clock, String(level).toUpperCase().padEnd(5), msg ?? '', ...shown].join(' ').replaceAll(controls, '?')}\n`
}

type Entry = Readonly<Record<string, unknown>>

/** Control characters that a terminal would interpret. */
const controls = /[\p{Cc}\p{Cf}\u2028\u2029]/gu

function fieldText(value: unknown): string {
  const text = isError(value) ? value.message : typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > maxField ? `${text.slice(0, maxField)}...` : text
}

const isError = (value: unknown): value is { readonly message: string } =>
  typeof value === 'object' && value !== null && 'stack' in value && 'message' in value
