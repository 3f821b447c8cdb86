import type { Attempt, Lane } from './call.ts'
import { forwardedQuery, upstreamHeaders } from './headers.ts'
import type { Pools } from './pools.ts'
import { RawExchange } from './raw-exchange.ts'
import { spliceString } from './splice.ts'

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
    const exchange = new RawExchange(attempt, sink, pingAfterMs)
    const { call, ask, target } = attempt
    if (call.signal.aborted) return exchange.result
    const { timeouts } = target.deployment
    const { pool, pathPrefix } = pools.routeTo(target.deployment)
    const request = {
      method: 'POST',
      path: `${pathPrefix}${paths[call.kind]}${forwardedQuery(call.query)}`,
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

const paths = { messages: '/v1/messages', count_tokens: '/v1/messages/count_tokens' } as const

const upstreamBody = ({ call, ask, target }: Attempt): Buffer =>
  target.upstreamModel === ask.model ? call.body : spliceString(call.body, ask.modelSpan, target.upstreamModel)
