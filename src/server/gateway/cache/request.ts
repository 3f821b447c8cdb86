import { createHash } from 'node:crypto'
import { invalid } from '../../platform/errors.ts'
import type { Call, CallKind } from '../core/call.ts'
import type { Trip } from '../routing/router.ts'
import { forwardedHeaders, forwardedQuery } from '../upstream/headers.ts'
import type { EntryName } from './store.ts'

/** How a request wants the cache used: `refresh` asks an upstream and stores the answer, `off` does neither. */
export type CacheUse = 'on' | 'off' | 'refresh'

/** What the header `x-switchyard-cache` asks for. */
export function cacheUseOf({ headers }: Pick<Call, 'headers'>): CacheUse {
  const given = headers['x-switchyard-cache']
  if (given === undefined) return 'on'
  if (given === 'off' || given === 'refresh') return given
  throw invalid('header x-switchyard-cache must be off or refresh')
}

/** Calls whose answer depends on their request alone, and is worth keeping. */
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
 * How long the answer of a call is kept; undefined where the cache is off for it: by the settings of its key and its model,
 * for calls of sessions, and for calls that go on from a stored response or store theirs.
 */
export function ttlOf({ call, asked }: Pick<Trip, 'call' | 'asked'>): number | undefined {
  const { kind, caller, session, deployment } = call
  if (session || deployment !== undefined || !cachedKinds.has(kind)) return undefined
  const ttlMs =
    caller.key?.cacheTtlMs ?? asked.find(({ deployment: { cacheTtlMs } }) => cacheTtlMs)?.deployment.cacheTtlMs
  return ttlMs && !isStateful(call) ? ttlMs : undefined
}

const isStateful = ({ kind, chain }: Call): boolean =>
  kind === 'responses' && (!chain || chain.isStored || chain.previousId !== undefined)

/**
 * Calls with the same name get the same answer. It covers all that decides on an answer: the principal, the body byte by byte,
 * the headers and the query that go on to upstreams, and the deployments that the model's name leads to.
 */
export function entryName({ call, ask, asked }: Pick<Trip, 'call' | 'ask' | 'asked'>): EntryName {
  const { kind, address, query, body } = call
  const { principal } = call.caller
  const headers = Object.entries(forwardedHeaders(call)).sort(([one], [other]) => (one < other ? -1 : 1))
  const targets = asked.map(({ deployment, upstreamModel, protocol }) => [deployment.id, upstreamModel, protocol])
  const facts = [principal, kind, ask.model, address, forwardedQuery(query), headers, targets]
  // JSON text holds no line feed, so the body cannot be taken for a part of it.
  const id = createHash('sha256')
    .update(`${JSON.stringify(facts)}\n`)
    .update(body)
    .digest('base64url')
  return { principal, id }
}
