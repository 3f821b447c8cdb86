import type { Attempt, Lane } from '../call.ts'
import { spliceString } from '../splice.ts'
import { Exchange } from '../upstream/exchange.ts'
import { forwardedQuery, upstreamHeaders } from '../upstream/headers.ts'
import type { Pools } from '../upstream/pools.ts'
import { createRawReader } from './raw-reader.ts'

interface Options {
  readonly pools: Pools
  readonly pingAfterMs: number
}

/**
 * The lane of upstreams that speak Anthropic's format. The received bytes go out, but for the model's name where it
 * maps; the answer's bytes come back as they are. Source: Gateway, section 2.1.
 */
export function createRawLane({ pools, pingAfterMs }: Options): Lane {
  return (attempt, sink) => {
    const exchange = new Exchange({ attempt, sink, reader: createRawReader({ attempt, sink, pingAfterMs }) })
    const { call, ask, target } = attempt
    if (call.signal.aborted) return exchange.result
    const { timeouts } = target.deployment
    const { pool, pathPrefix } = pools.routeTo(target.deployment)
    const request = {
      method: 'POST' as const,
      path: `${pathPrefix}${call.kind === 'count_tokens' ? '/v1/messages/count_tokens' : '/v1/messages'}${forwardedQuery(call.query)}`,
      headers: upstreamHeaders(call, target),
      body: upstreamBody(attempt),
      // Without a stream the first byte may well be the last: only the total time counts.
      headersTimeout: ask.stream ? timeouts.firstByteMs : 0,
      bodyTimeout: ask.stream ? timeouts.idleMs : 0,
    }
    pool.dispatch(request, exchange)
    return exchange.result
  }
}

const upstreamBody = ({ call, ask, target }: Attempt): Buffer =>
  target.upstreamModel === ask.model ? call.body : spliceString(call.body, ask.modelSpan, target.upstreamModel)
