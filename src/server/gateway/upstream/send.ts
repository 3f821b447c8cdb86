import type { Method } from '../../../contract/route.ts'
import { lengthOf, type Parts } from '../bytes/body-edit.ts'
import type { Attempt } from '../core/call.ts'
import type { Authorize } from './authorize.ts'
import type { Exchange } from './exchange.ts'
import { basePathOf } from './paths.ts'
import type { Pools } from './pools.ts'

interface Sending {
  readonly attempt: Attempt
  readonly exchange: Exchange
  /** Behind the base address of the protocol, with its query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Relayed as it comes where it is neither a buffer nor a list of them; null: none. */
  readonly body: Parts | AsyncIterable<Buffer> | null
  /** POST unless given. */
  readonly method?: Method
}

const nothing = Buffer.alloc(0)

/** False for a body that is still to come, which no signature can cover. */
const isAtHand = (body: Sending['body']): body is Parts => Buffer.isBuffer(body) || Array.isArray(body)

/** Sends requests to upstreams. */
export type Send = (sending: Sending) => Exchange['result']

/** Adds the credential and dispatches; the answer goes to the exchange, whose result is returned. */
export function createSend({ pools, authorize }: { readonly pools: Pools; readonly authorize: Authorize }): Send {
  const dispatch = ({ attempt, exchange, path, body, method = 'POST' }: Sending, headers: Record<string, string>) => {
    const { call, ask, target } = attempt
    if (call.signal.aborted) return exchange.result
    const { timeouts } = target.deployment
    const { pool, pathPrefix } = pools.routeTo(target.deployment)
    // Without a stream the first byte may well be the last: only the total time counts.
    const headersTimeout = ask.stream ? timeouts.firstByteMs : 0
    const bodyTimeout = ask.stream ? timeouts.idleMs : 0
    // What comes in parts would else go out in chunks.
    if (Array.isArray(body)) headers['content-length'] = String(lengthOf(body))
    // Its types leave out that it takes anything that can be iterated.
    const payload = body as Buffer
    pool.dispatch(
      {
        method,
        path: `${pathPrefix}${basePathOf(target)}${path}`,
        headers,
        body: payload,
        headersTimeout,
        bodyTimeout,
      },
      exchange,
    )
    return exchange.result
  }

  return sending => {
    const { target } = sending.attempt
    const url = `${target.deployment.apiBase}${basePathOf(target)}${sending.path}`
    const headers = authorize(target, {
      method: sending.method ?? 'POST',
      url,
      headers: sending.headers,
      body: isAtHand(sending.body) ? sending.body : nothing,
    })
    if (!(headers instanceof Promise)) return dispatch(sending, headers)
    // The exchange answers meanwhile for a caller who leaves, and for its time-out.
    headers.then(
      ready => dispatch(sending, ready),
      (error: unknown) => sending.exchange.abandon(error),
    )
    return sending.exchange.result
  }
}
