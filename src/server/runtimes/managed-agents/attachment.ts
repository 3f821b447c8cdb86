import type { Json } from '../../platform/json.ts'
import { pause } from '../../platform/timers.ts'
import type { ManagedAgentsApi } from './api.ts'

/** Event of an attachment to a session: the items of its list, the end of the list, then the frames of its stream. */
export type AttachmentEvent =
  | { readonly from: 'list' | 'stream'; readonly event: Json }
  /** The list is complete; later events arrive on the stream. */
  | { readonly from: 'listed' }
  /** No event for half a second: the reader can check what else has changed. */
  | { readonly from: 'nothing' }

interface Place {
  readonly sessionId: string
  /** Events processed before it are not requested. */
  readonly since: string | undefined
  readonly signal: AbortSignal
}

/** Some servers send the headers of a stream only with its first frame. */
const openMs = 5_000
const pollMs = 500

/**
 * Opens the stream, then reads the list, so that no event is lost; events in between arrive twice. Ends when the server
 * ends the stream. Rejects with `RuntimeFailure`, or with the reason of the signal. Dialects: section 1.7.
 */
export async function* attach(
  api: Pick<ManagedAgentsApi, 'list' | 'stream'>,
  { sessionId, since, signal }: Place,
): AsyncGenerator<AttachmentEvent> {
  const left = new AbortController()
  const attached = AbortSignal.any([signal, left.signal])
  try {
    const { promise: opened, resolve: onOpen } = Promise.withResolvers<void>()
    const frames = api.stream(sessionId, onOpen, attached)
    let next = frames.next()
    // Awaited below; until then a rejection must not count as unhandled.
    next.catch(() => undefined)
    await within(openMs, Promise.race([opened, next]))

    for await (const page of api.list(sessionId, since, attached))
      for (const event of page) yield { from: 'list', event }
    yield { from: 'listed' }

    for (;;) {
      const frame = await within(pollMs, next)
      if (frame === undefined) yield { from: 'nothing' }
      else if (frame.done) return
      else {
        yield { from: 'stream', event: frame.value }
        next = frames.next()
        next.catch(() => undefined)
      }
    }
  } finally {
    left.abort()
  }
}

/** Returns the result of `pending`, or undefined after `ms`. */
async function within<T>(ms: number, pending: Promise<T>): Promise<T | undefined> {
  const stop = new AbortController()
  try {
    return await Promise.race([pending, pause(ms, stop.signal).then(() => undefined)])
  } finally {
    stop.abort()
  }
}
