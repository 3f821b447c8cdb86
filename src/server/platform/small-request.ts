import type { Dispatcher } from 'undici'
import type { Outbound } from './outbound.ts'
import { Pool } from './undici.ts'

interface SmallRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Absolute. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** An async iterable is streamed; its length must be in the headers. */
  readonly body?: string | Buffer | AsyncIterable<Buffer>
  /** Maximum size of the response body in bytes; 64 KiB by default. */
  readonly maxBytes?: number
  /** Timeout of the whole request; 10,000 by default. */
  readonly totalMs?: number
}

interface SmallAnswer {
  readonly status: number
  readonly text: string
}

/** There was no complete response in time. */
export class TimedOut extends Error {
  override readonly name = 'TimedOut'
}

/** The body of the response exceeds the limit. */
export class ResponseTooLong extends Error {
  override readonly name = 'ResponseTooLong'
}

const connectMs = 5_000
const defaultTotalMs = 10_000
const maxAnswerBytes = 64 * 1024

/**
 * Sends a request that is not a model call, over a dedicated connection. Does not follow redirects. Rejects with
 * `OutboundBlocked`, `TimedOut`, `ResponseTooLong` or the error of the connection.
 */
export async function smallRequest(
  outbound: Pick<Outbound, 'connect'>,
  { url, ...request }: SmallRequest,
): Promise<SmallAnswer> {
  const client = createSmallClient(outbound, url)
  try {
    return await client.send({ url, ...request })
  } finally {
    await client.close()
  }
}

/** Sends requests to one origin over connections that stay open for some seconds. */
export interface SmallClient {
  /** As `smallRequest`. */
  send(request: SmallRequest): Promise<SmallAnswer>
  /** Closes the connections. */
  close(): Promise<void>
}

/** `url`: any address of the origin. */
export function createSmallClient(outbound: Pick<Outbound, 'connect'>, url: string): SmallClient {
  const pool = new Pool(new URL(url).origin, { connect: outbound.connect(connectMs) })
  return {
    send: ({ url: target, maxBytes = maxAnswerBytes, totalMs = defaultTotalMs, ...request }) => {
      const { pathname, search } = new URL(target)
      const timeouts = { headersTimeout: totalMs, bodyTimeout: totalMs }
      // undici accepts any iterable; its types do not say so.
      const options = { ...request, ...timeouts, path: `${pathname}${search}` } as Dispatcher.DispatchOptions
      return answerOf(pool, options, { maxBytes, totalMs })
    },
    close: () => pool.destroy(),
  }
}

interface Limits {
  readonly maxBytes: number
  readonly totalMs: number
}

async function answerOf(
  pool: Dispatcher,
  request: Dispatcher.DispatchOptions,
  { maxBytes, totalMs }: Limits,
): Promise<SmallAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<SmallAnswer>()
  const chunks: Buffer[] = []
  let status = 0
  let size = 0
  let started: Dispatcher.DispatchController | undefined
  let timeout: TimedOut | undefined
  const late = setTimeout(() => {
    timeout = new TimedOut(`no complete response within ${totalMs} ms`)
    started?.abort(timeout)
    reject(timeout)
  }, totalMs)
  pool.dispatch(request, {
    onRequestStart(controller) {
      if (timeout) controller.abort(timeout)
      started = controller
    },
    onResponseStart(_controller, given) {
      status = given
    },
    onResponseData(controller, chunk) {
      chunks.push(chunk)
      size += chunk.length
      if (size > maxBytes) controller.abort(new ResponseTooLong(`response exceeds ${maxBytes} bytes`))
    },
    onResponseEnd: () => resolve({ status, text: Buffer.concat(chunks).toString('utf8') }),
    onResponseError: (_controller, error) => reject(error),
  })
  return promise.finally(() => clearTimeout(late))
}
