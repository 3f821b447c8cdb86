import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { SessionEvent } from '../../../src/contract/events.ts'
import { type SseFrame, sseReader } from '../../../src/contract/sse.ts'
import { open, type Sent, type Target } from '../service/send.ts'

/** An open reader of a session's event stream. */
export interface EventTail {
  readonly headers: IncomingHttpHeaders
  /** Every frame so far. */
  readonly frames: readonly SseFrame[]
  /** The events of the frames that carry an id: what the log holds. */
  readonly events: readonly SessionEvent[]
  /** Everything that came, byte for byte. */
  readonly text: string
  /** The first frame that fits, also one that came before the call. */
  frame(fits: (frame: SseFrame, event: SessionEvent) => boolean, withinMs?: number): Promise<SseFrame>
  /** The first logged event of that type, or that fits. */
  event(fits: string | ((event: SessionEvent) => boolean), withinMs?: number): Promise<SessionEvent>
  /** Resolves when the service has ended the stream. */
  readonly ended: Promise<void>
  close(): void
}

interface Asked {
  /** Without its question mark. */
  readonly query?: string
  readonly headers?: Sent['headers']
}

/** Opens the stream of a session; rejects unless the answer is 200. */
export const followEvents = (target: Target, sessionId: string, asked: Asked = {}): Promise<EventTail> =>
  follow(target, `/v1/sessions/${sessionId}/events/stream`, asked)

/** Opens the stream over all sessions that the key may see; rejects unless the answer is 200. */
export const followFeed = (target: Target, asked: Asked = {}): Promise<EventTail> =>
  follow(target, '/v1/events/stream', asked)

async function follow(target: Target, route: string, { query = '', headers = {} }: Asked): Promise<EventTail> {
  const path = `${route}${query === '' ? '' : `?${query}`}`
  const response = await open(target, `GET ${path}`, { headers: { accept: 'text/event-stream', ...headers } })
  if (response.statusCode !== 200) {
    response.resume()
    throw new Error(`the stream answered ${response.statusCode}`)
  }
  return tailOf(response)
}

function tailOf(response: IncomingMessage): EventTail {
  const frames: SseFrame[] = []
  const waiting = new Set<() => void>()
  const read = sseReader()
  const decoder = new TextDecoder()
  let text = ''
  response.on('data', (chunk: Buffer) => {
    const piece = decoder.decode(chunk, { stream: true })
    text += piece
    frames.push(...read(piece))
    for (const look of waiting) look()
  })
  const ended = new Promise<void>(resolve => response.once('end', resolve))
  response.on('error', () => undefined)

  const logged = () => frames.filter(({ id }) => id !== undefined).map(eventOf)
  const find: EventTail['frame'] = (fits, withinMs = 60_000) =>
    new Promise((resolve, reject) => {
      const stop = () => {
        clearTimeout(timer)
        waiting.delete(look)
      }
      const look = () => {
        const found = frames.find(frame => fits(frame, eventOf(frame)))
        if (!found) return
        stop()
        resolve(found)
      }
      const timer = setTimeout(() => {
        stop()
        const seen = frames.map(({ event, id }) => `${id ?? '-'} ${event}`).join(', ')
        reject(new Error(`the event did not come within ${withinMs} ms; seen: ${seen}`))
      }, withinMs)
      waiting.add(look)
      look()
    })
  return {
    headers: response.headers,
    frames,
    get events() {
      return logged()
    },
    get text() {
      return text
    },
    frame: find,
    event: async (fits, withinMs) => {
      const isMeant = typeof fits === 'string' ? (event: SessionEvent) => event.type === fits : fits
      return eventOf(await find((frame, event) => frame.id !== undefined && isMeant(event), withinMs))
    },
    ended,
    close: () => void response.destroy(),
  }
}

const eventOf = ({ data }: SseFrame): SessionEvent => JSON.parse(data) as SessionEvent
