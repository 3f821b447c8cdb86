import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Route } from '../../contract/route.ts'
import { invalid } from '../platform/errors.ts'
import type { Caller } from './caller.ts'

/** A request that must act once, however often it is sent. Gaps: section 1, rule 7. */
export interface Idempotency {
  readonly principal: string
  /** The route with its path parameters, so that one key may serve two sessions. */
  readonly route: string
  readonly key: string
  /** SHA-256 of the body; another body under the same key is refused. */
  readonly bodyHash: Buffer
}

const maxKeyLength = 255

/** The request's `Idempotency-Key` with what it is bound to; undefined when the caller sent none. */
export function idempotencyOf(request: FastifyRequest, route: Route, caller: Caller): Idempotency | undefined {
  const key = request.headers['idempotency-key']
  if (route.method !== 'POST' || key === undefined) return undefined
  if (typeof key !== 'string' || key === '' || key.length > maxKeyLength) {
    throw invalid(`the header Idempotency-Key must have 1 to ${maxKeyLength} characters`)
  }
  const bodyHash = createHash('sha256')
    .update(JSON.stringify(request.body ?? null))
    .digest()
  const params = Object.values(request.params as Record<string, string>)
  return { principal: caller.principal, route: [route.id, ...params].join(' '), key, bodyHash }
}
