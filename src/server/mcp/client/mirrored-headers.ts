import { isRecord, type Json, recordOf } from '../../platform/json.ts'

/** Field of the parameters that `Mcp-Name` repeats, by method. Dialects: section 6.1, rule 2. */
const named: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
}

/** Returns the headers that repeat parts of a modern request. `inputSchema` is that of the called tool. */
export function mirroredHeaders(method: string, params: Json, inputSchema: unknown): Record<string, string> {
  const name = params[named[method] ?? '']
  return {
    'mcp-method': method,
    ...(typeof name === 'string' && { 'mcp-name': headerValue(name) }),
    ...parameterHeaders(inputSchema, params['arguments']),
  }
}

/** Returns the name that `Mcp-Name` must repeat; undefined for methods without one. */
export const mirroredName = (method: string, params: Json): unknown => params[named[method] ?? '']

const prefix = '=?base64?'
const suffix = '?='

/** Encodes a value that a header cannot carry as it is. */
export function headerValue(text: string): string {
  const isPlain = /^[\x20-\x7e]*$/.test(text) && text === text.trim() && !text.startsWith(prefix)
  return isPlain ? text : `${prefix}${Buffer.from(text).toString('base64')}${suffix}`
}

/** Decodes a value that `headerValue` may have encoded. */
export function plainValue(value: string): string {
  if (!value.startsWith(prefix) || !value.endsWith(suffix)) return value
  return Buffer.from(value.slice(prefix.length, -suffix.length), 'base64').toString()
}

interface Marked {
  readonly header: string
  readonly path: readonly string[]
  readonly isPrimitive: boolean
}

const maxDepth = 16

/** Returns the marked properties of a schema, which are reached by `properties` only. */
function markedIn(schema: unknown, path: readonly string[] = []): Marked[] {
  if (!isRecord(schema) || path.length > maxDepth) return []
  return Object.entries(recordOf(schema['properties'])).flatMap(([name, property]) => {
    if (!isRecord(property)) return []
    const header = property['x-mcp-header']
    const at = [...path, name]
    const isPrimitive = ['string', 'number', 'integer', 'boolean'].includes(String(property['type']))
    return [...(typeof header === 'string' ? [{ header, path: at, isPrimitive }] : []), ...markedIn(property, at)]
  })
}

/** True if parameters of a tool are repeated in headers. */
export const hasMarks = (inputSchema: unknown): boolean => markedIn(inputSchema).length > 0

/** True if the marks of a tool follow the rules; a tool that breaks them must not be listed. */
export function hasValidMarks(inputSchema: unknown): boolean {
  const marked = markedIn(inputSchema)
  const names = new Set(marked.map(({ header }) => header.toLowerCase()))
  return (
    names.size === marked.length &&
    marked.every(({ header, isPrimitive }) => isPrimitive && /^[A-Za-z0-9_-]{1,64}$/.test(header))
  )
}

function parameterHeaders(inputSchema: unknown, args: unknown): Record<string, string> {
  const entries = markedIn(inputSchema).flatMap(({ header, path }) => {
    const value = path.reduce<unknown>((part, name) => (isRecord(part) ? part[name] : undefined), args)
    return ['string', 'number', 'boolean'].includes(typeof value)
      ? [[`mcp-param-${header.toLowerCase()}`, headerValue(String(value))] as const]
      : []
  })
  return Object.fromEntries(entries)
}
