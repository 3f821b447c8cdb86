import { allRoutes } from '../../contract/api.ts'
import type { Route } from '../../contract/route.ts'

/** A route's path as the HTTP library spells it: `:name` for `{name}`. */
export const fastifyPath = ({ path }: Route): string => path.replaceAll(/\{(\w+)\}/g, ':$1')

const patterns = allRoutes.map(({ method, path }) => ({
  method,
  pattern: new RegExp(`^${path.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}))

/** The methods that the contract knows for a path; empty when there is no such path. */
export const allowedMethods = (path: string): string[] => [
  ...new Set(patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)),
]
