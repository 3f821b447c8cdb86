import type { Fields } from '../../../data/json.ts'
import type { Format } from './form.ts'

/**
 * Fields that all versions of the libraries have parameters for; `anthropic` 1 has none for `temperature`.
 * All others go into `extra_body`, which they send as it is.
 */
const parameters: Readonly<Record<Format, readonly string[]>> = {
  messages: ['model', 'max_tokens', 'system', 'messages', 'thinking', 'tools'],
  chat: [
    ...['model', 'messages', 'max_completion_tokens', 'temperature', 'reasoning_effort', 'response_format', 'tools'],
    ...['stream', 'stream_options'],
  ],
  responses: [
    ...['model', 'instructions', 'input', 'max_output_tokens', 'temperature', 'reasoning', 'text', 'tools', 'stream'],
    'store',
  ],
}

/** Returns the body of a request as the arguments of a call, one a line. */
export function pythonArguments(body: Fields, format: Format): string {
  const entries = Object.entries(body)
  const isOwn = ([name]: readonly [string, unknown]) => parameters[format].includes(name)
  const others = Object.fromEntries(entries.filter(entry => !isOwn(entry)))
  const all: readonly (readonly [string, unknown])[] =
    Object.keys(others).length === 0 ? entries : [...entries.filter(isOwn), ['extra_body', others]]
  return all.map(([name, value]) => `    ${name}=${pythonLiteral(value, '    ')},`).join('\n')
}

/** Returns a value of JSON as Python writes it, indented. */
export function pythonLiteral(value: unknown, indent = ''): string {
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value !== 'object') return JSON.stringify(value)
  const inner = `${indent}    `
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const items = Array.isArray(value)
    ? value.map(each => pythonLiteral(each, inner))
    : Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${pythonLiteral(each, inner)}`)
  if (items.length === 0) return `${open}${close}`
  return `${open}\n${items.map(item => `${inner}${item},\n`).join('')}${indent}${close}`
}
