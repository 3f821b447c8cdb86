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
  /** Path after the base address of the protocol, with the query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** An async iterable is streamed; null: no body. */
  readonly body: Parts | AsyncIterable<Buffer> | null
  /** POST by default. */
  readonly method?: Method
}

const emptyBody = Buffer.alloc(0)

/** False for a streamed body, which a signature cannot cover. */
const isBuffered = (body: Sending['body']): body is Parts => Buffer.isBuffer(body) || Array.isArray(body)

/** Sends a request to an upstream. */
export type Send = (sending: Sending) => Exchange['result']

/** Adds the credential and dispatches the request. The exchange handles the response; its result is returned. */
export function createSend({ pools, authorize }: { readonly pools: Pools; readonly authorize: Authorize }): Send {
  const dispatch = ({ attempt, exchange, path, body, method = 'POST' }: Sending, headers: Record<string, string>) => {
    const { call, parsed, target } = attempt
    if (call.signal.aborted) return exchange.result
    const { timeouts } = target.deployment
    const { pool, pathPrefix } = pools.routeTo(target.deployment)
    // Without a stream the first byte may arrive with the last one, so only the total timeout applies.
    const headersTimeout = parsed.stream ? timeouts.firstByteMs : 0
    const bodyTimeout = parsed.stream ? timeouts.idleMs : 0
    // Without a length undici would send the parts with chunked encoding.
    if (Array.isArray(body)) headers['content-length'] = String(lengthOf(body))
    // undici accepts any iterable; its types do not say so.
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
      body: isBuffered(sending.body) ? sending.body : emptyBody,
    })
    if (!(headers instanceof Promise)) return dispatch(sending, headers)
    // Until the credential is ready, the exchange handles a disconnected client and the total timeout.
    headers.then(
      ready => dispatch(sending, ready),
      (error: unknown) => sending.exchange.failUnsent(error),
    )
    return sending.exchange.result
  }
}
