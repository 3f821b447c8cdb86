import { createHash } from 'node:crypto'
import { invalid } from '../../platform/errors.ts'
import type { Call, CallKind } from '../core/call.ts'
import type { RouteRequest } from '../routing/router.ts'
import { forwardedHeaders, forwardedQuery } from '../upstream/headers.ts'
import type { EntryName } from './store.ts'

/** A request's choice about the cache: `refresh` calls an upstream and caches the answer, `off` bypasses the cache. */
export type CacheUse = 'on' | 'off' | 'refresh'

/** Reads the header `x-switchyard-cache`. */
export function cacheUseOf({ headers }: Pick<Call, 'headers'>): CacheUse {
  const given = headers['x-switchyard-cache']
  if (given === undefined) return 'on'
  if (given === 'off' || given === 'refresh') return given
  throw invalid('header x-switchyard-cache must be off or refresh')
}

/** Kinds of calls whose answers depend on the request alone and are worth caching. */
const cachedKinds: ReadonlySet<CallKind> = new Set([
  'messages',
  'chat',
  'responses',
  'gemini',
  'completions',
  'embeddings',
  'gemini_embed',
  'gemini_embed_batch',
  'moderations',
  'rerank',
])

/**
 * Returns how long the answer of a call is cached; undefined where it is not: by the settings of its key and model, for
 * calls of sessions, and for calls that continue from a stored response or store their own.
 */
export function ttlOf({ call, candidates }: Pick<RouteRequest, 'call' | 'candidates'>): number | undefined {
  const { kind, caller, session, deployment } = call
  if (session || deployment !== undefined || !cachedKinds.has(kind)) return undefined
  const ttlMs =
    caller.key?.cacheTtlMs ?? candidates.find(({ deployment: { cacheTtlMs } }) => cacheTtlMs)?.deployment.cacheTtlMs
  return ttlMs && !isStateful(call) ? ttlMs : undefined
}

const isStateful = ({ kind, chain }: Call): boolean =>
  kind === 'responses' && (!chain || chain.isStored || chain.previousId !== undefined)

/**
 * Returns the name of the cache entry of a call. It covers everything that determines an answer: the principal, the
 * bytes of the body, the headers and the query that are forwarded to upstreams, and the deployments of the model.
 */
export function entryName({
  call,
  parsed,
  candidates,
}: Pick<RouteRequest, 'call' | 'parsed' | 'candidates'>): EntryName {
  const { kind, address, query, body } = call
  const { principal } = call.caller
  const headers = Object.entries(forwardedHeaders(call)).sort(([one], [other]) => (one < other ? -1 : 1))
  const targets = candidates.map(({ deployment, upstreamModel, protocol }) => [deployment.id, upstreamModel, protocol])
  const facts = [principal, kind, parsed.model, address, forwardedQuery(query), headers, targets]
  // JSON text contains no line feed, so it separates the facts from the body.
  const id = createHash('sha256')
    .update(`${JSON.stringify(facts)}\n`)
    .update(body)
    .digest('base64url')
  return { principal, id }
}
