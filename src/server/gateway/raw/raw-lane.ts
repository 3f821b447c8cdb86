import type { Lane } from '../call.ts'
import { withDegradedHeader } from '../translated/degradations.ts'
import { Exchange } from '../upstream/exchange.ts'
import type { Send } from '../upstream/send.ts'
import { RawReader } from './raw-reader.ts'
import type { Wire } from './wire.ts'

interface Options {
  readonly wire: Wire
  readonly send: Send
  /** Silence in a stream after which a ping goes out. */
  readonly pingAfterMs: number
  /** How long a stream without content is held back. */
  readonly holdBackMs: number
}

/**
 * The lane of upstreams that speak the client's own format. The received bytes go out, but for what the wire has to
 * change; the answer's bytes come back as they are. Source: Gateway, section 2.1.
 */
export function createRawLane({ wire, send, pingAfterMs, holdBackMs }: Options): Lane {
  return (given, sink) => {
    const { path, headers, body, degraded } = wire.request(given)
    const attempt = withDegradedHeader(given, degraded)
    const reader = new RawReader({ wire, attempt, sink, degraded, pingAfterMs, holdBackMs })
    return send({ attempt, exchange: new Exchange({ attempt, sink, reader }), path, headers, body })
  }
}
