import { createClient } from '../../src/client/client.ts'
import { readEvents } from '../../src/client/event-reader.ts'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { Target } from '../support/service/send.ts'
import type { Bench } from './fault-case.ts'

/** Somebody who follows a session over every fault and writes down what came. */
export interface Reader {
  readonly sessionId: string
  readonly events: readonly SessionEvent[]
  /** Connections that were opened. */
  readonly connections: number
  /** Ends the reading; rejects when the reader itself found a fault, such as a gap. */
  close(): Promise<void>
}

const pace = { quickMs: 50, retryMs: 200, maxMs: 1_000, silenceMs: 15_000 }
/** Any address: each request goes to where the service is then. */
const nowhere = 'http://service.invalid'

/** Follows a session with the project's own client. `target` may change; the next connection goes there. */
export function follow(bench: Pick<Bench, 'signal'>, target: () => Target, sessionId: string): Reader {
  const { key } = target()
  const wanted: typeof fetch = (input, init) => fetch(String(input).replace(nowhere, target().url), init)
  const client = createClient({ baseUrl: nowhere, key, fetch: wanted })
  const stop = new AbortController()
  const signal = AbortSignal.any([bench.signal, stop.signal])
  const events: SessionEvent[] = []
  let connections = 0
  const onState = ({ name }: { name: string }) => {
    if (name === 'open') connections++
  }
  const read = async () => {
    for await (const { ephemeral, event } of readEvents({ client, sessionId, signal, pace, onState })) {
      if (!ephemeral) events.push(event)
    }
  }
  const reading = read()
  // Reported by close; a fault of the reader must not end the case before it is read.
  reading.catch(() => undefined)
  return {
    sessionId,
    events,
    get connections() {
      return connections
    },
    async close() {
      stop.abort()
      await reading
    },
  }
}
