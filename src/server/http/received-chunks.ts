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
  let rejectWait: ((error: AppError) => void) | undefined
  const timer = setTimeout(() => {
    if (rejectWait) rejectWait(invalid(`request body stalled: nothing arrived for ${silenceMs / 1000} s`))
    else timer.refresh()
  }, silenceMs)
  try {
    for (;;) {
      // One promise per chunk: a race with a promise of the whole upload would retain all chunks.
      const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<Buffer>>()
      rejectWait = reject
      timer.refresh()
      chunks.next().then(resolve, reject)
      const { done, value } = await promise
      rejectWait = undefined
      if (done) return
      yield value
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
