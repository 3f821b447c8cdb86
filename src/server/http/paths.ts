import { everyPath } from '../../contract/api.ts'
import type { ErrorShape, Route } from '../../contract/route.ts'

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

const patterns = everyPath.map(({ method, path, errorShape }) => ({
  method,
  errorShape,
  pattern: new RegExp(
    `^${path
      .replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&')
      .replaceAll(/\/(files|console)\/\{path\}/g, '/$1/.+')
      .replaceAll(/\{\w+\}/g, '[^/]+')}$`,
  ),
}))

/** Returns the error shape of the route of a path, also for parameters that the router rejects; undefined for an unknown path. */
export const errorShapeAt = (method: string, path: string): ErrorShape | undefined =>
  patterns.find(each => each.method === method && each.pattern.test(path))?.errorShape

/** Returns the methods of a path; empty for an unknown path. */
export const allowedMethods = (path: string): string[] => [
  ...new Set(patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)),
]
