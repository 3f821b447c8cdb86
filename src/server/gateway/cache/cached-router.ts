import type { Leaving } from '../../platform/leaving.ts'
import { drained, type Outcome, type Sink } from '../core/call.ts'
import type { Arrival, Router, Trip } from '../routing/router.ts'
import { noTokens } from '../tokens/token-counts.ts'
import { streamHeaders } from '../upstream/headers.ts'
import type { CachedAnswer, ResponseCache } from './entries.ts'
import { type CacheUse, entryName, ttlOf } from './request.ts'

/** A route request with what its client wants of the cache. */
interface CachedTrip extends Trip {
  readonly cacheUse: CacheUse
}

/** A longer answer is not kept. */
const maxBytes = 4 * 1024 * 1024
/** A replayed stream goes out in pieces of this size. */
const pieceBytes = 64 * 1024

/** A router that answers from the cache where it can, and stores what upstreams answer. Never rejects. */
export function createCachedRouter(
  route: Router,
  cache: ResponseCache,
): (trip: CachedTrip, sink: Sink) => Promise<Arrival> {
  const cached = async (trip: CachedTrip, ttlMs: number, sink: Sink): Promise<Arrival> => {
    const name = entryName(trip)
    const found = trip.cacheUse === 'refresh' ? undefined : await cache.find(name, ttlMs)
    if (found) return replay(trip, found, sink)
    const copy = copyingSink(sink)
    const ownHeaders = { ...trip.ownHeaders, 'x-switchyard-cache': 'miss' }
    const arrival = await route({ ...trip, ownHeaders }, copy.sink)
    const answer = isAnsweredAsAsked(arrival, trip) ? copy.answer() : undefined
    if (answer) cache.keep(name, answer, ttlMs)
    return arrival
  }
  return (trip, sink) => {
    const ttlMs = trip.cacheUse === 'off' ? undefined : ttlOf(trip)
    return ttlMs === undefined ? route(trip, sink) : cached(trip, ttlMs, sink)
  }
}

/** The answer of a fallback must not outlive the failure that led to it. */
function isAnsweredAsAsked({ ending, attempt }: Arrival, { asked }: Trip): boolean {
  const isWhole = 'outcome' in ending && ending.outcome === 'completed' && ending.status === 200
  return isWhole && asked.some(served => served === attempt?.target)
}

/** A sink that passes an answer on and has a copy of it in the end, unless it was cut or is too long. */
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

async function replay(trip: Trip, { contentType, degraded, body, ageSeconds }: Found, sink: Sink): Promise<Arrival> {
  const { ownHeaders, startedMs, call } = trip
  const arrived = { attempt: undefined, attempts: 0, givenUp: [], replayed: trip }
  if (call.signal.aborted) return { ...arrived, ending: leftBefore }
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
  return { ...arrived, ending }
}

const leftBefore: Outcome = {
  outcome: 'aborted',
  status: undefined,
  stopReason: undefined,
  usage: noTokens,
  firstContentMs: undefined,
}

/** As fast as the client reads. */
async function stream(body: Buffer, sink: Sink, signal: Leaving): Promise<void> {
  for (let at = 0; at < body.length && !signal.aborted; at += pieceBytes) {
    if (!sink.data(body.subarray(at, at + pieceBytes))) await drained(sink, signal)
  }
  if (!signal.aborted) sink.end()
}
