import { everyPath } from '../../contract/api.ts'
import type { Route } from '../../contract/route.ts'

/** A route's path as the HTTP library spells it: `:name` for `{name}`. */
export const fastifyPath = ({ path }: Pick<Route, 'path'>): string => path.replaceAll(/\{(\w+)\}/g, ':$1')

/** The paths of a route and of its aliases as the HTTP library spells them. */
export const fastifyPaths = ({ path, aliases = [] }: Route): string[] =>
  [path, ...aliases].map(each => fastifyPath({ path: each }))

const patterns = everyPath.map(({ method, path }) => ({
  method,
  pattern: new RegExp(
    `^${path
      .replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&')
      .replaceAll('/files/{path}', '/files/.+')
      .replaceAll(/\{\w+\}/g, '[^/]+')}$`,
  ),
}))

/** The methods that the contract knows for a path; empty when there is no such path. */
export const allowedMethods = (path: string): string[] => [
  ...new Set(patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)),
]
