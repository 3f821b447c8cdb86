import type { Outbound } from '../platform/outbound.ts'
import { TimedOut } from '../platform/small-request.ts'
import { Pool } from '../platform/undici.ts'
import { receiverFailure, statusFailure } from '../platform/webhook-failure.ts'

interface Message {
  readonly url: string
  /** With the content type. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Result of one attempt. Of the receiver's response it contains only the status. Security: S29. */
export interface Sending {
  readonly isDelivered: boolean
  readonly httpStatus: number | null
  readonly error: string | null
  readonly durationMs: number
}

const connectMs = 5_000
const maxResponseBytes = 16 * 1024

/** Sends a message over a separate connection, without following redirects. */
export type Send = (message: Message) => Promise<Sending>

/** `totalMs` is the timeout of an attempt. */
export function createSend(outbound: Pick<Outbound, 'connect'>, totalMs = 10_000): Send {
  return async message => {
    const startedMs = performance.now()
    const resultOf = (httpStatus: number | null, error: string | null): Sending => ({
      isDelivered: error === null,
      httpStatus,
      error,
      durationMs: Math.round(performance.now() - startedMs),
    })
    try {
      const status = await statusOf(outbound, message, totalMs)
      return resultOf(status, statusFailure(status) ?? null)
    } catch (error) {
      return resultOf(null, receiverFailure(error, totalMs))
    }
  }
}

/** Returns the status of the response. The body is read, so that the receiver can finish, and discarded. */
async function statusOf(outbound: Pick<Outbound, 'connect'>, message: Message, totalMs: number): Promise<number> {
  const { origin, pathname, search } = new URL(message.url)
  const pool = new Pool(origin, { connect: outbound.connect(connectMs), headersTimeout: totalMs, bodyTimeout: totalMs })
  const timeout = setTimeout(() => void pool.destroy(new TimedOut()), totalMs)
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  let status = 0
  let size = 0
  const { headers, body } = message
  pool.dispatch(
    { method: 'POST', path: `${pathname}${search}`, headers, body },
    {
      onRequestStart: () => undefined,
      onResponseStart(_controller, given) {
        status = given
      },
      onResponseData(controller, chunk) {
        size += chunk.length
        if (size <= maxResponseBytes) return
        resolve(status)
        controller.abort(new Error(`response is longer than ${maxResponseBytes} bytes`))
      },
      onResponseEnd: () => resolve(status),
      onResponseError: (_controller, error) => reject(error),
    },
  )
  try {
    return await promise
  } finally {
    clearTimeout(timeout)
    await pool.destroy()
  }
}
