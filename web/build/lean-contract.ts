import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Plugin } from 'vite'
import type { Route } from '../../src/contract/route.ts'

const contractFolder = join(dirname(import.meta.dirname), '..', 'src', 'contract')

/** The fields of a route that the client reads. */
type LeanRoute = Pick<Route, 'id' | 'method' | 'path' | 'access' | 'produces'>

const isRoute = (value: unknown): value is Route =>
  typeof value === 'object' && value !== null && 'method' in value && 'path' in value && 'responses' in value

const leanRoute = ({ id, method, path, access, produces }: Route): LeanRoute => ({
  id,
  method,
  path,
  access,
  ...(produces && { produces }),
})

/** Returns routes without schemas; undefined for a value that is neither a route, nor a group of routes, nor text. */
function lean(value: unknown): unknown {
  if (isRoute(value)) return leanRoute(value)
  if (typeof value === 'string' || typeof value === 'number') return value
  if (Array.isArray(value)) return value.every(item => typeof item === 'string') ? value : undefined
  if (typeof value !== 'object' || value === null) return undefined
  const entries = Object.entries(value).map(([name, item]) => [name, lean(item)] as const)
  return entries.length > 0 && entries.every(([, item]) => typeof item === 'object')
    ? Object.fromEntries(entries)
    : undefined
}

const isSchemaModule = (id: string): boolean =>
  id.startsWith(contractFolder) && (id.endsWith('/api.ts') || readFileSync(id, 'utf8').includes("from 'typebox'"))

/**
 * Replaces modules of the contract that contain schemas by their routes and constants. The table stays the only list of
 * routes, and its schemas, five times as large as the routes, are not sent to browsers.
 */
export function leanContract(): Plugin {
  return {
    name: 'lean-contract',
    enforce: 'pre',
    async load(id) {
      const [path = ''] = id.split('?')
      if (!isSchemaModule(path)) return undefined
      const exported: Record<string, unknown> = await import(pathToFileURL(path).href)
      const lines = Object.entries(exported).flatMap(([name, value]) => {
        const data = lean(value)
        return data === undefined ? [] : [`export const ${name} = ${JSON.stringify(data)}`]
      })
      return { code: lines.join('\n'), map: null, moduleType: 'js' }
    },
  }
}
