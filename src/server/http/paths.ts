import { everyPath } from '../../contract/api.ts'
import type { Route } from '../../contract/route.ts'

/** A parameter before a colon ends at the colon. */
const beforeColon = ':$1(^[^:/]+):'

/** Returns the path of a route in Fastify's syntax: `:name` for `{name}`, `::` for a colon. */
export const fastifyPath = ({ path }: Pick<Route, 'path'>): string =>
  path
    .replaceAll(':', '::')
    .replaceAll(/\{(\w+)\}:/g, beforeColon)
    .replaceAll(/\{(\w+)\}/g, ':$1')

/** Returns the paths of a route and its aliases in Fastify's syntax. */
export const fastifyPaths = ({ path, aliases = [] }: Route): string[] =>
  [path, ...aliases].map(each => fastifyPath({ path: each }))

const patterns = everyPath.map(({ method, path }) => ({
  method,
  pattern: new RegExp(
    `^${path
      .replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&')
      .replaceAll(/\/(files|console)\/\{path\}/g, '/$1/.+')
      .replaceAll(/\{\w+\}/g, '[^/]+')}$`,
  ),
}))

/** Returns the methods of a path; empty for an unknown path. */
export const allowedMethods = (path: string): string[] => [
  ...new Set(patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)),
]
