import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import type { Pool } from 'pg'
import type { NewEvent } from '../../../src/contract/events.ts'
import { sseReader } from '../../../src/contract/sse.ts'
import { transaction } from '../../../src/server/db/connect.ts'
import { createNotifications } from '../../../src/server/db/notifications.ts'
import { WriteTurns } from '../../../src/server/http/write-turns.ts'
import { type BusDeps, writeBus } from '../../../src/server/opencode/bus.ts'
import { feedStore } from '../../../src/server/opencode/feed-store.ts'
import { opencodeSession } from '../../../src/server/opencode/session.ts'
import { SessionFeed } from '../../../src/server/opencode/session-feed.ts'
import { SessionTranslations } from '../../../src/server/opencode/session-translation.ts'
import { createLog } from '../../../src/server/platform/log.ts'
import { createEventLog } from '../../../src/server/sessions/log/event-log.ts'
import { eventStore } from '../../../src/server/sessions/log/event-store.ts'
import { LiveEvents } from '../../../src/server/sessions/log/live-events.ts'
import { toSession } from '../../../src/server/sessions/session-row.ts'
import { sessionStore } from '../../../src/server/sessions/session-store.ts'
import { eventually } from '../service/eventually.ts'

interface Options {
  readonly url: string
  readonly pool: Pool
  /** False loses the hint. */
  readonly hears?: (hint: string) => boolean
  /** Never, unless given. */
  readonly pollMs?: number
  readonly slowReaderMs?: number
  /** In place of the feed over the database. */
  readonly feed?: BusDeps['feed']
}

const never = 2 ** 31 - 1
const log = createLog('silent')

/** The event bus of opencode's clients in one process, over a real database. */
export async function startBusReplica(t: TestContext, { url, pool, hears = () => true, ...given }: Options) {
  const owner = randomUUID()
  const heard = createNotifications({ connectionString: url }, log)
  const notifications = {
    ...heard,
    on: (channel: string, listener: (hint: string) => void) =>
      heard.on(channel, hint => {
        if (hears(hint)) listener(hint)
      }),
  }
  let looks = 0
  const rows = feedStore(pool)
  const changed: typeof rows.changed = async withinMs => {
    const found = await rows.changed(withinMs)
    looks++
    return found
  }
  const events = eventStore(pool)
  const sessions = sessionStore(pool)
  const live = new LiveEvents({ store: events, notifications, owner, log })
  const feed = new SessionFeed({ store: { ...rows, changed }, notifications, log, pollMs: given.pollMs ?? never })
  const eventLog = createEventLog({ pool, store: events, live, folds: { note: () => undefined } })
  const { slowReaderMs } = given
  const deps = {
    feed: given.feed ?? feed,
    translations: new SessionTranslations({ live, contextOf: rows.contextOf }),
    events,
    turns: new WriteTurns(),
    ...(slowReaderMs !== undefined && { slowReaderMs }),
  }
  const answers: ServerResponse[] = []
  const shutdown = new AbortController()
  const recordOf = async (id: string) => {
    const row = await sessions.find(id)
    if (!row) throw new Error(`no session ${id}`)
    return opencodeSession(toSession(row))
  }
  const options = { owner: undefined, recordOf, begin: () => undefined, wrap: (event: object) => event }
  const server = createServer((_request, response) => {
    answers.push(response)
    void writeBus(response, 'req_1', { deps, options: { ...options, shutdown: shutdown.signal } })
  })
  server.listen(0, '127.0.0.1')
  await Promise.all([once(server, 'listening'), heard.start(owner)])
  t.after(async () => {
    shutdown.abort()
    server.closeAllConnections()
    server.close()
    await Promise.all([once(server, 'close'), feed.stop(), live.stop()])
    await heard.stop()
  })
  const { port } = server.address() as AddressInfo

  return {
    live,
    hasPeers: () => heard.hasPeers(),
    /** What is written to each reader, in the order in which they came. */
    answers,
    /** Appends to the log of a session as a call to this process does. */
    async write(sessionId: string, ...added: readonly NewEvent[]): Promise<void> {
      eventLog.publish(await transaction(pool, client => eventLog.appendByCaller(client, sessionId, added)))
    },
    /** Waits for two more polls of the tables, after which a repeated report would have arrived. */
    async settled(): Promise<void> {
      const before = looks
      await eventually(() => looks >= before + 2, { what: 'two more looks at the tables' })
    },
    /** Connects a reader, which reads nothing until the test reads the response. */
    async open(): Promise<IncomingMessage> {
      const request = get({ port, path: '/', agent: false })
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      t.after(() => response.destroy())
      response.on('error', () => undefined)
      return response
    },
    /** Events that a reader receives from now on. */
    async watch(): Promise<readonly BusEvent[]> {
      const received: BusEvent[] = []
      const read = sseReader()
      const response = (await this.open()).setEncoding('utf8')
      response.on('data', (text: string) => {
        for (const { data } of read(text)) received.push(JSON.parse(data) as BusEvent)
      })
      await eventually(() => received.length > 0, { what: 'the first event' })
      return received
    },
  }
}

/** An event as opencode's clients read it. */
export interface BusEvent {
  readonly type: string
  readonly properties: Readonly<Record<string, unknown>>
}
