import { jsonOr } from '../platform/json.ts'
import type { Outbound } from '../platform/outbound.ts'
import { smallRequest } from '../platform/small-request.ts'
import { receiverFailure } from '../platform/webhook-failure.ts'

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

const maxBytes = 4 * 1024 * 1024

/** Makes one call through the guard, without following redirects. Never rejects. */
export type Exchange = (call: Call) => Promise<Exchanged>

/** `totalMs` is the timeout of a call. */
export const createExchange =
  (outbound: Pick<Outbound, 'connect'>, totalMs = 10_000): Exchange =>
  async call => {
    try {
      const { status, text } = await smallRequest(outbound, { ...call, maxBytes, totalMs })
      return { status, body: jsonOr(text, undefined), problem: null }
    } catch (error) {
      return { status: null, body: undefined, problem: receiverFailure(error, totalMs) }
    }
  }
