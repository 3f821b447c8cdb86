import { createHash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Route } from '../../contract/route.ts'
import { invalid } from '../platform/errors.ts'
import type { Caller } from './caller.ts'

/** Identifies a request that must be executed once, even if it is sent again. Gaps: section 1, rule 7. */
export interface Idempotency {
  readonly principal: string
  /** Route with its path parameters, so that one key may be used for two sessions. */
  readonly route: string
  readonly key: string
  /** SHA-256 of the body. Another body with the same key is rejected. */
  readonly bodyHash: Buffer
}

const maxKeyLength = 255

/** Returns the `Idempotency-Key` of a request with its scope; undefined without one. Throws `invalid_request`. */
export function idempotencyOf(request: FastifyRequest, route: Route, caller: Caller): Idempotency | undefined {
  const key = request.headers['idempotency-key']
  if (route.method !== 'POST' || key === undefined) return undefined
  if (typeof key !== 'string' || key === '' || key.length > maxKeyLength) {
    throw invalid(`header Idempotency-Key must have 1 to ${maxKeyLength} characters`)
  }
  const bodyHash = createHash('sha256')
    .update(JSON.stringify(request.body ?? null))
    .digest()
  const params = Object.values(request.params as Record<string, string>)
  return { principal: caller.principal, route: [route.id, ...params].join(' '), key, bodyHash }
}
