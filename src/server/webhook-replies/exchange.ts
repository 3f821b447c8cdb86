import { type Outbound, OutboundBlocked } from '../platform/outbound.ts'
import { Pool, request } from '../platform/undici.ts'

interface Call {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** Response of a receiver. Its text is only parsed, never stored or shown. Security: S29. */
export interface Exchanged {
  /** Null without a complete response. */
  readonly status: number | null
  /** Parsed body; undefined when it is not JSON. */
  readonly body: unknown
  /** Why there was no response; null with one. */
  readonly problem: string | null
}

const connectMs = 5_000
const maxBytes = 4 * 1024 * 1024

/** Makes one call through the guard, without following redirects. Never rejects. */
export type Exchange = (call: Call) => Promise<Exchanged>

/** `totalMs` is the timeout of a call. */
export const createExchange =
  (outbound: Pick<Outbound, 'connect'>, totalMs = 10_000): Exchange =>
  async ({ method, url, headers, body }) => {
    const { origin, pathname, search } = new URL(url)
    const pool = new Pool(origin, {
      connect: outbound.connect(connectMs),
      headersTimeout: totalMs,
      bodyTimeout: totalMs,
    })
    try {
      const signal = AbortSignal.timeout(totalMs)
      const path = `${pathname}${search}`
      const response = await request.call(pool, { method, path, headers, signal, ...(body !== undefined && { body }) })
      const chunks: Buffer[] = []
      let size = 0
      for await (const chunk of response.body) {
        size += (chunk as Buffer).length
        if (size > maxBytes) throw new Error(`response is longer than ${maxBytes} bytes`)
        chunks.push(chunk as Buffer)
      }
      return { status: response.statusCode, body: jsonOf(Buffer.concat(chunks).toString()), problem: null }
    } catch (error) {
      return { status: null, body: undefined, problem: problemOf(error, totalMs) }
    } finally {
      await pool.destroy()
    }
  }

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function problemOf(error: unknown, totalMs: number): string {
  if (error instanceof OutboundBlocked) return error.message
  const { code, name } = error as NodeJS.ErrnoException
  if (name === 'TimeoutError') return `no complete response within ${totalMs / 1_000} s`
  return `receiver is unreachable${typeof code === 'string' ? ` (${code})` : ''}`
}
