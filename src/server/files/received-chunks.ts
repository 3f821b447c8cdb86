import type { IncomingMessage } from 'node:http'
import { AppError, invalid } from '../platform/errors.ts'

/** Silence after which an upload is rejected. */
const maxSilenceMs = 60_000

/**
 * Yields the body of a request. It is not destroyed when the reader stops, so that the client still gets an answer.
 * Throws `invalid_request` when the body ends early, or nothing arrives for a minute.
 */
export async function* receivedChunks(
  request: IncomingMessage,
  silenceMs: number = maxSilenceMs,
): AsyncGenerator<Buffer> {
  const chunks = request.iterator({ destroyOnReturn: false })
  const silence = Promise.withResolvers<never>()
  silence.promise.catch(() => undefined)
  let isWaiting = false
  const timer = setTimeout(() => {
    if (isWaiting) silence.reject(invalid(`request body stalled: nothing arrived for ${silenceMs / 1000} s`))
    else timer.refresh()
  }, silenceMs)
  try {
    for (;;) {
      timer.refresh()
      isWaiting = true
      const { done, value } = await Promise.race([chunks.next(), silence.promise])
      isWaiting = false
      if (done) return
      yield value as Buffer
    }
  } catch (cause) {
    if (cause instanceof AppError) throw cause
    throw new AppError('invalid_request', 'request body was truncated', { cause })
  } finally {
    clearTimeout(timer)
    // Releases the request, whose rest the server then reads and drops. Not awaited: a read may be pending.
    void chunks.return?.()
  }
}
