import type { CancelSignal } from '../../platform/cancel-signal.ts'
import { drained, type Outcome, type Sink } from '../core/call.ts'
import type { RouteRequest, RouteResult, Router } from '../routing/router.ts'
import { noTokens } from '../tokens/token-counts.ts'
import { streamHeaders } from '../upstream/headers.ts'
import type { CachedAnswer, ResponseCache } from './entries.ts'
import { type CacheUse, entryName, ttlOf } from './request.ts'

/** Route request with the client's choice about the cache. */
interface CachedRouteRequest extends RouteRequest {
  readonly cacheUse: CacheUse
}

/** Longer answers are not cached. */
const maxBytes = 4 * 1024 * 1024
/** A replayed stream is sent in chunks of this size. */
const pieceBytes = 64 * 1024

/** Creates a router that answers from the cache where possible, and caches answers of upstreams. Never rejects. */
export function createCachedRouter(
  route: Router,
  cache: ResponseCache,
): (routeRequest: CachedRouteRequest, sink: Sink) => Promise<RouteResult> {
  const cached = async (routeRequest: CachedRouteRequest, ttlMs: number, sink: Sink): Promise<RouteResult> => {
    const name = entryName(routeRequest)
    const found = routeRequest.cacheUse === 'refresh' ? undefined : await cache.find(name, ttlMs)
    if (found) return replay(routeRequest, found, sink)
    const copy = copyingSink(sink)
    const ownHeaders = { ...routeRequest.ownHeaders, 'x-switchyard-cache': 'miss' }
    const result = await route({ ...routeRequest, ownHeaders }, copy.sink)
    const answer = isAnsweredByCandidate(result, routeRequest) ? copy.answer() : undefined
    if (answer) cache.put(name, answer, ttlMs)
    return result
  }
  return (routeRequest, sink) => {
    const ttlMs = routeRequest.cacheUse === 'off' ? undefined : ttlOf(routeRequest)
    return ttlMs === undefined ? route(routeRequest, sink) : cached(routeRequest, ttlMs, sink)
  }
}

/** False for the answer of a fallback, which must not be cached beyond the failure that led to it. */
function isAnsweredByCandidate({ ending, attempt }: RouteResult, { candidates }: RouteRequest): boolean {
  const isWhole = 'outcome' in ending && ending.outcome === 'completed' && ending.status === 200
  return isWhole && candidates.some(served => served === attempt?.target)
}

/** Creates a sink that forwards an answer and copies it. Returns no copy of an incomplete or too long answer. */
function copyingSink(sink: Sink) {
  let head: Omit<CachedAnswer, 'body'> | undefined
  let chunks: Buffer[] = []
  let bytes = 0
  let isEnded = false

  const drop = (): void => {
    head = undefined
    chunks = []
  }
  const copy = (chunk: Buffer): void => {
    if (!head) return
    bytes += chunk.length
    if (bytes > maxBytes) drop()
    else chunks.push(chunk)
  }
  const copying: Sink = {
    head(status, headers) {
      const { 'content-type': contentType, 'x-switchyard-degraded': degraded } = headers
      if (status === 200 && contentType !== undefined) head = { contentType, degraded }
      sink.head(status, headers)
    },
    data(chunk) {
      copy(chunk)
      return sink.data(chunk)
    },
    onDrain: resume => sink.onDrain(resume),
    end(chunk) {
      if (chunk) copy(chunk)
      isEnded = true
      sink.end(chunk)
    },
    ...(sink.cut && {
      cut() {
        drop()
        sink.cut?.()
      },
    }),
  }
  return {
    sink: copying,
    answer: (): CachedAnswer | undefined => (head && isEnded ? { ...head, body: Buffer.concat(chunks) } : undefined),
  }
}

interface Found extends CachedAnswer {
  readonly ageSeconds: number
}

async function replay(
  routeRequest: RouteRequest,
  { contentType, degraded, body, ageSeconds }: Found,
  sink: Sink,
): Promise<RouteResult> {
  const { ownHeaders, startedMs, call } = routeRequest
  const base = { attempt: undefined, attempts: 0, discarded: [], replayed: routeRequest }
  if (call.signal.aborted) return { ...base, ending: abortedBefore }
  const isStream = contentType.startsWith('text/event-stream')
  sink.head(200, {
    'content-type': contentType,
    ...(isStream ? streamHeaders : { 'content-length': String(body.length) }),
    ...(degraded !== undefined && { 'x-switchyard-degraded': degraded }),
    ...ownHeaders,
    'x-switchyard-cache': 'hit',
    age: String(ageSeconds),
  })
  const firstContentMs = performance.now() - startedMs
  if (isStream) await stream(body, sink, call.signal)
  else sink.end(body)
  const outcome = call.signal.aborted ? 'aborted' : 'completed'
  const ending: Outcome = { outcome, status: 200, stopReason: undefined, usage: noTokens, firstContentMs }
  return { ...base, ending }
}

const abortedBefore: Outcome = {
  outcome: 'aborted',
  status: undefined,
  stopReason: undefined,
  usage: noTokens,
  firstContentMs: undefined,
}

/** Sends a stream, with back-pressure. */
async function stream(body: Buffer, sink: Sink, signal: CancelSignal): Promise<void> {
  for (let at = 0; at < body.length && !signal.aborted; at += pieceBytes) {
    if (!sink.data(body.subarray(at, at + pieceBytes))) await drained(sink, signal)
  }
  if (!signal.aborted) sink.end()
}
