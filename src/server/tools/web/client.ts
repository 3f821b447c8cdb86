import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import type { Dispatcher } from 'undici'
import { invalid } from '../../platform/errors.ts'
import { blockedReasonFor, type Outbound, OutboundBlocked } from '../../platform/outbound.ts'
import { errors, Pool } from '../../platform/undici.ts'

export interface WebRequest {
  readonly url: string
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Maximum size of the body of the response, as sent and decompressed. */
  readonly maxBytes: number
}

export interface WebResponse {
  readonly status: number
  /** Names in lower case; of several headers with one name the first. */
  readonly headers: Readonly<Record<string, string>>
  /** Decompressed. */
  readonly body: Buffer
}

/**
 * Sends one request without following redirects. Errors: `invalid_request` with a message for the model, which names
 * the URL's host at most. Rejects with the reason of the signal.
 */
export type SendWeb = (request: WebRequest, signal: AbortSignal) => Promise<WebResponse>

const connectMs = 5_000
const acceptEncoding = 'gzip, deflate, br'

/**
 * Returns a client whose connections pass the guard; each request has its own connection. `totalMs` limits a whole
 * request. Security: S20 to S24.
 */
export function createWebClient(guard: () => Outbound, totalMs = 30_000): SendWeb {
  return async (request, signal) => {
    signal.throwIfAborted()
    const outbound = guard()
    const reason = blockedReasonFor(request.url, outbound)
    if (reason !== undefined) throw invalid(reason)
    const { origin } = new URL(request.url)
    const timeouts = { headersTimeout: totalMs, bodyTimeout: totalMs }
    const pool = new Pool(origin, { connect: outbound.connect(connectMs), connections: 1, ...timeouts })
    const stop = (reason: Error) => void pool.destroy(reason)
    const timer = setTimeout(() => stop(invalid(`no complete response within ${totalMs / 1000} s`)), totalMs)
    const abort = () => stop(new Error('aborted'))
    signal.addEventListener('abort', abort, { once: true })
    try {
      const response = await exchange(pool, request)
      return { ...response, body: await decompressed(response, request.maxBytes) }
    } catch (error) {
      signal.throwIfAborted()
      throw explained(error)
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      await pool.destroy()
    }
  }
}

/** Sends a request and reads its response. Stops as soon as the response is known to be too large. */
function exchange(pool: Dispatcher, { url, method = 'GET', headers, body, maxBytes }: WebRequest) {
  const { promise, resolve, reject } = Promise.withResolvers<WebResponse>()
  const { pathname, search } = new URL(url)
  const chunks: Buffer[] = []
  let size = 0
  let head: Omit<WebResponse, 'body'> | undefined
  const path = `${pathname}${search}`
  const sent = { 'user-agent': 'Switchyard', 'accept-encoding': acceptEncoding, ...headers }
  pool.dispatch(
    { method, path, headers: sent, ...(body !== undefined && { body }) },
    {
      onRequestStart: () => undefined,
      onResponseStart(controller, status, given) {
        head = { status, headers: firstOf(given) }
        if (Number(head.headers['content-length']) > maxBytes) controller.abort(tooLarge(maxBytes))
      },
      onResponseData(controller, chunk) {
        size += chunk.length
        if (size > maxBytes) controller.abort(tooLarge(maxBytes))
        else chunks.push(chunk)
      },
      onResponseEnd: () =>
        head ? resolve({ ...head, body: Buffer.concat(chunks) }) : reject(new Error('response without a status (bug)')),
      onResponseError: (_controller, error) => reject(error),
    },
  )
  return promise
}

const firstOf = (headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, (Array.isArray(value) ? value[0] : value) ?? '']),
  )

const tooLarge = (maxBytes: number) => invalid(`response exceeds ${maxBytes} bytes`)

const decoders = { gzip: promisify(gunzip), deflate: promisify(inflate), br: promisify(brotliDecompress) }

/** Decompresses a body outside of the main thread. A small body can decompress to a very large one. */
async function decompressed({ headers, body }: WebResponse, maxBytes: number): Promise<Buffer> {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? ''
  if (encoding === '' || encoding === 'identity' || body.length === 0) return body
  const decode = Object.hasOwn(decoders, encoding) ? decoders[encoding as keyof typeof decoders] : undefined
  if (!decode) throw invalid('response has an unknown content-encoding')
  try {
    return await decode(body, { maxOutputLength: maxBytes })
  } catch (error) {
    const isTooLarge = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE'
    throw isTooLarge ? tooLarge(maxBytes) : invalid('response cannot be decompressed')
  }
}

/** Converts errors of a connection to messages for the model. */
function explained(error: unknown): unknown {
  if (error instanceof OutboundBlocked) return invalid(error.message)
  if (error instanceof errors.HTTPParserError) return invalid('no response (not valid HTTP)')
  const { code } = error as NodeJS.ErrnoException
  return typeof code === 'string' && /^[A-Z_]+$/.test(code) ? invalid(`no response (${code})`) : error
}
