import type { Outbound } from '../platform/outbound.ts'
import { OutboundRefused } from '../platform/outbound.ts'
import { Pool } from '../platform/undici.ts'

interface Message {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What became of one attempt, in words of ours: nothing of the receiver's answer but its status goes on. Security: S29. */
export interface Sending {
  readonly isDelivered: boolean
  readonly httpStatus: number | null
  readonly error: string | null
  readonly durationMs: number
}

const connectMs = 5_000
const maxAnswerBytes = 16 * 1024

/** Sends a message over a connection of its own, and follows no redirect. */
export type Send = (message: Message) => Promise<Sending>

/** `totalMs` bounds an attempt, 10,000 unless given. */
export function createSend(outbound: Pick<Outbound, 'connect'>, totalMs = 10_000): Send {
  return async message => {
    const startedMs = performance.now()
    const told = (httpStatus: number | null, error: string | null): Sending => ({
      isDelivered: error === null,
      httpStatus,
      error,
      durationMs: Math.round(performance.now() - startedMs),
    })
    try {
      const status = await statusOf(outbound, message, totalMs)
      return told(status, problemOf(status))
    } catch (error) {
      return told(null, failureOf(error, totalMs))
    }
  }
}

class TooLate extends Error {}

/** The status of the answer. Its body is read, so that the receiver can finish, and dropped. */
async function statusOf(outbound: Pick<Outbound, 'connect'>, message: Message, totalMs: number): Promise<number> {
  const { origin, pathname, search } = new URL(message.url)
  const pool = new Pool(origin, { connect: outbound.connect(connectMs), headersTimeout: totalMs, bodyTimeout: totalMs })
  const late = setTimeout(() => void pool.destroy(new TooLate()), totalMs)
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  let status = 0
  let size = 0
  const { headers, body } = message
  pool.dispatch(
    { method: 'POST', path: `${pathname}${search}`, headers: { ...headers, 'content-type': 'application/json' }, body },
    {
      onRequestStart: () => undefined,
      onResponseStart(_controller, given) {
        status = given
      },
      onResponseData(controller, chunk) {
        size += chunk.length
        if (size <= maxAnswerBytes) return
        resolve(status)
        controller.abort(new Error('the rest of the answer is of no interest'))
      },
      onResponseEnd: () => resolve(status),
      onResponseError: (_controller, error) => reject(error),
    },
  )
  try {
    return await promise
  } finally {
    clearTimeout(late)
    await pool.destroy()
  }
}

function problemOf(status: number): string | null {
  if (status >= 200 && status < 300) return null
  if (status >= 300 && status < 400)
    return `the receiver answered with a redirect (status ${status}), which is not followed`
  return `the receiver answered with status ${status}`
}

function failureOf(error: unknown, totalMs: number): string {
  if (error instanceof OutboundRefused) return error.message
  if (error instanceof TooLate) return `no whole answer within ${totalMs / 1_000} s`
  const { code } = error as NodeJS.ErrnoException
  return `the receiver cannot be reached${typeof code === 'string' ? ` (${code})` : ''}`
}
