import type { Json } from '../../platform/json.ts'
import { pause } from '../../platform/timers.ts'
import type { ManagedAgentsApi } from './api.ts'

/** What comes of being attached to a session, in this order: its list, the end of that, then its stream. */
export type Arrival =
  | { readonly from: 'list' | 'stream'; readonly event: Json }
  /** The list is read; from here on nothing is missed. */
  | { readonly from: 'listed' }
  /** Nothing for half a second: a look at what else may have changed. */
  | { readonly from: 'nothing' }

interface Place {
  readonly sessionId: string
  /** Events processed before it are not asked for. */
  readonly since: string | undefined
  readonly signal: AbortSignal
}

/** Some servers send the head of a stream only with its first frame. */
const openMs = 5_000
const lookMs = 500

/**
 * Opens the stream, then reads the list: what happens in between comes twice, and nothing is lost. Ends when the server ends
 * the stream; rejects with `RuntimeFailure`, or with the reason of the signal. Dialects: section 1.7.
 */
export async function* attach(
  api: Pick<ManagedAgentsApi, 'list' | 'stream'>,
  { sessionId, since, signal }: Place,
): AsyncGenerator<Arrival> {
  const left = new AbortController()
  const attached = AbortSignal.any([signal, left.signal])
  try {
    const { promise: opened, resolve: onOpen } = Promise.withResolvers<void>()
    const frames = api.stream(sessionId, onOpen, attached)
    let next = frames.next()
    // Awaited below; until then a failure must not count as nobody's.
    next.catch(() => undefined)
    await within(openMs, Promise.race([opened, next]))

    for await (const page of api.list(sessionId, since, attached))
      for (const event of page) yield { from: 'list', event }
    yield { from: 'listed' }

    for (;;) {
      const frame = await within(lookMs, next)
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

/** What `coming` resolves to, or undefined when it has not come in time. */
async function within<T>(ms: number, coming: Promise<T>): Promise<T | undefined> {
  const stop = new AbortController()
  try {
    return await Promise.race([coming, pause(ms, stop.signal).then(() => undefined)])
  } finally {
    stop.abort()
  }
}
