import type { ErrorShape } from '../../contract/route.ts'
import { AppError } from '../platform/errors.ts'
import { errorShapeAt } from './paths.ts'

/** Returns the path of a URL without the query, which may contain a key. */
export const pathOf = (url: string): string => url.split('?')[0] ?? ''

const keyed =
  /^\/(a2a|ag-ui|api|v1|v1beta|session|mcp|openai|anthropic|gemini|bedrock|chat|responses|messages|embeddings|models|model|completions|moderations|rerank|images|audio)(\/|$|\?)/

/** True for paths that require a key even if unknown, so that they do not reveal which paths exist. */
export const needsKey = (url: string): boolean => keyed.test(url)

/** Error shapes by path prefix, with or without a version. The first match counts. */
const shapes: readonly (readonly [path: RegExp, ErrorShape])[] = [
  [/^\/api\/v1\//, 'plain'],
  [/^\/v1beta(\/|$)/, 'google'],
  [/^\/v1\/models\/.+:((g|streamG)enerateContent|countTokens|(batchE|e)mbedContents?)$/, 'google'],
  [/^(\/v1)?\/(messages|models)(\/|$)/, 'anthropic'],
  [/^\/v1\/(agents|environments|sessions|vaults|memory_stores|deployments|deployment_runs)(\/|$)/, 'anthropic'],
  [/^(\/v1)?\/(chat|responses|embeddings|model)(\/|$)/, 'openai'],
  [/^(\/v\d)?\/(completions|images|audio|moderations|rerank)(\/|$)/, 'openai'],
  [/^\/v1\/(files|skills)(\/|$)/, 'by-header'],
  [/^\/v1\/(batches|fine_tuning|uploads|assistants|threads)(\/|$)/, 'openai'],
  [/^\/openai(\/|$)/, 'openai'],
  [/^\/anthropic(\/|$)/, 'anthropic'],
  [/^\/gemini(\/|$)/, 'google'],
  [/^\/a2a(\/|$)/, 'a2a'],
]

/** Returns the error shape of a request that no route handles. */
export function shapeOfPath({ method, url }: { readonly method: string; readonly url: string }): ErrorShape {
  const path = pathOf(url)
  const ofRoute = errorShapeAt(method, path)
  if (ofRoute) return ofRoute
  const [, shape] = shapes.find(([pattern]) => pattern.test(path)) ?? []
  return shape ?? 'nested'
}

/** Returns the error for an unknown path. */
export const noSuchPath = (url: string): AppError =>
  new AppError('unknown_path', `unknown path: ${pathOf(url).slice(0, 200)}; see /docs`)
