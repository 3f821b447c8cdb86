import type { IncomingMessage } from 'node:http'
import type { SessionEvent } from '../src/contract/events.ts'
import { sseReader } from '../src/contract/sse.ts'
import { open, type Target } from '../test/support/service/send.ts'

/** A logged event and when it came, by `performance.now()`. */
export interface Delivery {
  readonly event: SessionEvent
  readonly atMs: number
}

/** An open reader of a session's events. */
export interface EventFeed {
  /** All that came so far. */
  readonly deliveries: readonly Delivery[]
  /** The first arrival from number `from` on, counted from 0, that fits; rejects when none comes in time. */
  next(from: number, fits: (event: SessionEvent) => boolean): Promise<Delivery>
  close(): void
}

const patienceMs = 60_000

/** Opens the stream of a session, behind event `after`. */
export async function followSession(target: Target, sessionId: string, after = 0): Promise<EventFeed> {
  const response = await open(target, `GET /v1/sessions/${sessionId}/events/stream?after=${after}`)
  if (response.statusCode !== 200) throw new Error(`the stream answered ${response.statusCode}`)
  return feedOf(response)
}

function feedOf(response: IncomingMessage): EventFeed {
  const deliveries: Delivery[] = []
  const waiting = new Set<() => void>()
  const read = sseReader()
  response.setEncoding('utf8')
  response.on('error', () => undefined)
  response.on('data', (text: string) => {
    const atMs = performance.now()
    for (const { id, data } of read(text)) {
      if (id !== undefined) deliveries.push({ event: JSON.parse(data) as SessionEvent, atMs })
    }
    for (const look of waiting) look()
  })
  return {
    deliveries,
    next(from, fits) {
      let looked = from
      return new Promise((resolve, reject) => {
        const settle = (work: () => void) => {
          clearTimeout(timer)
          waiting.delete(look)
          work()
        }
        const look = () => {
          for (; looked < deliveries.length; looked++) {
            const delivery = deliveries[looked]
            if (delivery && fits(delivery.event)) return settle(() => resolve(delivery))
          }
        }
        const timer = setTimeout(() => settle(() => reject(new Error('the event did not come'))), patienceMs)
        waiting.add(look)
        look()
      })
    },
    close: () => void response.destroy(),
  }
}
