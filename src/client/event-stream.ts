import { eventRoutes } from '../contract/event-routes.ts'
import { type SseFrame, sseReader } from '../contract/sse.ts'
import type { Client } from './client.ts'
import { ConnectionLost } from './reconnect.ts'

/** One connection to the event stream of a session. */
export interface StreamRequest {
  readonly client: Client
  readonly sessionId: string
  /** Sequence number of the last event that was read; 0 for none. */
  readonly after: number
  readonly eventDeltas: boolean
  readonly signal: AbortSignal
  readonly silenceMs: number
  readonly onOpen: () => void
  readonly onRetry: (retryMs: number) => void
}

/**
 * Yields the frames of one connection until the service closes it. Throws what `Client.open` throws, and ConnectionLost
 * when the connection breaks or no data arrives for `silenceMs`. The time that the consumer takes does not count.
 */
export async function* streamFrames(request: StreamRequest): AsyncGenerator<SseFrame, void, void> {
  const watch = silenceWatch(request.silenceMs)
  const signal = AbortSignal.any([request.signal, watch.signal])
  try {
    const response = await watch.during(openStream(request, signal))
    request.onOpen()
    const read = sseReader({ onRetry: request.onRetry })
    // Keep the byte order mark: the SSE reader skips the first one, and a second one is text.
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
    const body = response.body?.getReader()
    for (;;) {
      const chunk = await watch.during(body?.read() ?? Promise.resolve({ done: true as const, value: undefined }))
      if (chunk.done) return
      yield* read(decoder.decode(chunk.value, { stream: true }))
    }
  } catch (error) {
    throw watch.signal.aborted || error instanceof TypeError ? lost(error) : error
  } finally {
    watch.close()
  }
}

/** Fetch reports a broken body as a TypeError, in Node and in browsers. */
const lost = (error: unknown): ConnectionLost =>
  error instanceof ConnectionLost ? error : new ConnectionLost('connection was interrupted', { cause: error })

function openStream({ client, sessionId, after, eventDeltas }: StreamRequest, signal: AbortSignal): Promise<Response> {
  const query = eventDeltas ? { event_deltas: true } : {}
  const headers = after > 0 ? { 'last-event-id': String(after) } : {}
  return client.open(eventRoutes.stream, { params: { session_id: sessionId }, query }, { headers, signal })
}

/** Aborts its signal when a promise awaited through `during` takes longer than `silenceMs`, and on `close`. */
function silenceWatch(silenceMs: number) {
  const controller = new AbortController()
  const expire = () => controller.abort(new ConnectionLost(`no data for ${silenceMs / 1000} s`))
  return {
    signal: controller.signal,
    async during<T>(work: Promise<T>): Promise<T> {
      const timer = setTimeout(expire, silenceMs)
      try {
        return await work
      } finally {
        clearTimeout(timer)
      }
    },
    /** Closes the connection, even if its body was not read to the end. */
    close: () => controller.abort(new ConnectionLost('reader closed the connection')),
  }
}
