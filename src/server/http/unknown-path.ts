import { insteadOf } from '../../contract/not-here.ts'
import type { ErrorShape } from '../../contract/route.ts'
import { AppError } from '../platform/errors.ts'

/** The path of a request without its query, which may hold a key. */
export const pathOf = (url: string): string => url.split('?')[0] ?? ''

const keyed =
  /^\/(api|v1|v1beta|session|mcp|openai|anthropic|gemini|bedrock|chat|responses|messages|embeddings|models|model|completions|moderations|rerank|images|audio)(\/|$|\?)/

/** True for paths that need a key also where there is no route: they say nothing of themselves to a caller without one. */
export const needsKey = (url: string): boolean => keyed.test(url)

/** Whose clients call what is below a path, with or without its version. The first that fits counts. */
const shapes: readonly (readonly [path: RegExp, ErrorShape])[] = [
  [/^\/api\/v1\//, 'plain'],
  [/^\/v1beta(\/|$)/, 'google'],
  [/^\/v1\/models\/.+:((g|streamG)enerateContent|countTokens|(batchE|e)mbedContents?)$/, 'google'],
  [/^(\/v1)?\/(messages|models)(\/|$)/, 'anthropic'],
  [/^\/v1\/(agents|environments|sessions)(\/|$)/, 'anthropic'],
  [/^(\/v1)?\/(chat|responses|embeddings|model)(\/|$)/, 'openai'],
  [/^(\/v\d)?\/(completions|images|audio|moderations|rerank)(\/|$)/, 'openai'],
  [/^\/v1\/(batches|fine_tuning|uploads|assistants|threads)(\/|$)/, 'openai'],
  [/^\/openai(\/|$)/, 'openai'],
  [/^\/anthropic(\/|$)/, 'anthropic'],
  [/^\/gemini(\/|$)/, 'google'],
]

/** The shape of errors on a path that is not a route. */
export function shapeOfPath(url: string): ErrorShape {
  const path = pathOf(url)
  const [, shape] = shapes.find(([pattern]) => pattern.test(path)) ?? []
  return shape ?? (insteadOf(path) ? 'anthropic' : 'nested')
}

/** The error for a path that is not a route; it names what the service has in its place. */
export function noSuchPath(url: string): AppError {
  const path = pathOf(url)
  const instead = insteadOf(path)
  return new AppError('unknown_path', `no such path: ${path.slice(0, 200)}; ${instead ? `${instead}; ` : ''}see /docs`)
}
