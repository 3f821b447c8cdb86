import type { Route } from '../contract/route.ts'
import { InvalidParameter } from './failures.ts'

/** Parts of a request, not yet typed by a route. */
export interface RequestParts {
  readonly params?: unknown
  readonly query?: unknown
  readonly body?: unknown
}

/**
 * Returns the path and query of a request. Lists become repeated names, objects `name[key]`; undefined and null values
 * are omitted. Throws InvalidParameter for a path parameter that is missing, `.` or `..`.
 */
export function addressOf(route: Route, { params, query }: RequestParts): string {
  const values = (params ?? {}) as Readonly<Record<string, unknown>>
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encoded(name, values[name]))
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const [key, item] of entriesOf(name, value)) {
      if (item !== undefined && item !== null) search.append(key, String(item))
    }
  }
  return search.size === 0 ? path : `${path}?${search}`
}

function entriesOf(name: string, value: unknown): [string, unknown][] {
  if (Array.isArray(value)) return value.map(item => [name, item])
  if (typeof value !== 'object' || value === null) return [[name, value]]
  return Object.entries(value).map(([key, item]) => [`${name}[${key}]`, item])
}

/**
 * Encodes a path parameter; one with the name `path` keeps its slashes. Rejects `.` and `..`: URL parsers resolve them even
 * when escaped, so another endpoint would be called.
 */
function encoded(name: string, value: unknown): string {
  const text = value === undefined || value === null ? '' : String(value)
  const segments = name === 'path' ? text.split('/') : [text]
  if (text === '' || segments.some(segment => segment === '.' || segment === '..'))
    throw new InvalidParameter(`${name} "${text}" is not ${name === 'path' ? 'a path' : 'an id'}`)
  return segments.map(encodeURIComponent).join('/')
}
