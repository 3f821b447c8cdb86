import type { Pool, PoolClient } from 'pg'
import type { SessionEvent } from '../../contract/events.ts'
import type { ForkRequest, Session } from '../../contract/sessions.ts'
import { transaction } from '../db/connect.ts'
import { once, sqlOfClient } from '../db/once.ts'
import type { Caller } from '../http/caller.ts'
import type { Idempotency } from '../http/idempotency.ts'
import { AppError, invalid, notFound } from '../platform/errors.ts'
import type { RuntimeRegistry } from '../runtimes/runtime.ts'
import { ForkPoint } from './fork-point.ts'
import type { forkStore } from './fork-store.ts'
import type { EventLog } from './log/event-log.ts'
import type { EventStore } from './log/event-store.ts'
import type { HistoryStore } from './log/history-store.ts'
import { type SessionRow, toSession } from './session-row.ts'
import type { SessionStore } from './session-store.ts'
import type { Sessions } from './sessions.ts'

interface Deps {
  readonly pool: Pool
  readonly sessions: Pick<Sessions, 'open' | 'createWithin'>
  readonly store: Pick<SessionStore, 'find'>
  readonly forks: typeof forkStore
  readonly events: Pick<EventStore, 'seqOfEvent' | 'seqOfPrompt' | 'page'>
  readonly history: Pick<HistoryStore, 'after'>
  readonly eventLog: Pick<EventLog, 'appendByCaller' | 'tell'>
  readonly runtimes: Pick<RuntimeRegistry, 'find'>
}

interface By {
  readonly caller: Caller
  readonly idempotency: Idempotency | undefined
}

/** Of the log that is copied: one statement does it. */
const mostEvents = 50_000
const mostBytes = 64 * 1024 * 1024
const page = 500
const longestTitle = 200

/** Where a session is forked. */
interface Cut {
  /** The last event that is copied. */
  readonly seq: number
  readonly point: ForkPoint
}

/** Makes a session that begins with what another one has said and done until an event, and with its files of then. */
export type Fork = ReturnType<typeof createFork>

export function createFork(deps: Deps) {
  const { pool, sessions, store, forks, events, history, eventLog, runtimes } = deps

  /** The last event that a request wants; of a message of opencode's, the one before it. */
  async function wantedSeq({ id, next_seq }: SessionRow, { messageID, event_id }: ForkRequest): Promise<number> {
    if (messageID !== undefined && event_id !== undefined) throw invalid('messageID and event_id exclude each other')
    if (event_id !== undefined) {
      const seq = await events.seqOfEvent(id, event_id)
      if (seq === undefined) throw notFound('event', event_id)
      return seq
    }
    if (messageID === undefined) return next_seq - 1
    const answer = `evt_${messageID.slice(messageID.indexOf('_') + 1)}`
    const seq = (await events.seqOfPrompt(id, messageID)) ?? (await events.seqOfEvent(id, answer))
    if (seq === undefined) throw notFound('message', messageID)
    return seq - 1
  }

  /** Reads the log until then. An event inside of a step means the last whole step before it. */
  async function cutAt(id: string, last: number): Promise<Cut> {
    const point = new ForkPoint()
    for await (const event of eventsUntil(id, last)) point.add(event)
    return point.stepBefore === undefined ? { seq: last, point } : cutAt(id, point.stepBefore)
  }

  async function* eventsUntil(id: string, last: number): AsyncGenerator<SessionEvent> {
    if (last > mostEvents) throw tooLong()
    let bytes = 0
    for (let after = 0; after < last; ) {
      const { events: some, bytes: more } = await history.after(id, after, Math.min(page, last - after))
      bytes += more
      if (bytes > mostBytes) throw tooLong()
      yield* some
      after = some.at(-1)?.seq ?? last
    }
  }

  /** Whether the new runtime goes on from the copied log itself, or is told of it as text. */
  async function contextOf(from: SessionRow, runtime: string): Promise<'log' | 'transcript'> {
    const reads = (await runtimes.find(runtime))?.reads
    if (reads === 'any log') return 'log'
    if (reads !== 'own log' || runtime !== from.runtime) return 'transcript'
    const [told] = from.forked_at_seq === null ? [] : await events.page(from.id, from.forked_at_seq - 1, 1)
    return told?.['context'] === 'transcript' ? 'transcript' : 'log'
  }

  async function begin(client: PoolClient, from: SessionRow, { body, cut, caller }: Begin) {
    const copy = (id: string) => forks.copy(client, { id, fromId: from.id, seq: cut.seq })
    const made = await sessions.createWithin(client, {
      body: creationOf(from, body),
      caller,
      messages: [],
      owner: from.owner_id,
      begin: copy,
    })
    const context = await contextOf(from, made.runtime)
    const forked = { type: 'session.forked', forked_from: { session_id: from.id, seq: cut.seq }, context }
    const appended = await eventLog.appendByCaller(client, made.id, [...cut.point.closing(), forked])
    await forks.close(client, made.id, lastOf(appended.events))
    const row = await store.find(made.id, undefined, client)
    if (!row) throw new Error(`session ${made.id} is not there right after its creation`)
    const tell = () => {
      made.tell()
      eventLog.tell(appended)
    }
    return { session: toSession(row), ignored: made.ignored, tell }
  }

  /** Errors: `not_found`, `invalid_request`, `payload_too_large` for a log of more than 50,000 events or 64 MiB. */
  return async (
    id: string,
    body: ForkRequest,
    { caller, idempotency }: By,
  ): Promise<{ readonly session: Session; readonly ignored: readonly string[] }> => {
    const from = await sessions.open(id, caller)
    const cut = await cutAt(id, await wantedSeq(from, body))
    let ignored: readonly string[] = []
    let tell = () => undefined as void
    const session = await transaction(pool, client =>
      once(sqlOfClient(client), idempotency, async () => {
        const begun = await begin(client, from, { body, cut, caller })
        ignored = begun.ignored
        tell = begun.tell
        return begun.session
      }),
    )
    tell()
    return { session, ignored }
  }
}

interface Begin {
  readonly body: ForkRequest
  readonly cut: Cut
  readonly caller: Caller
}

const tooLong = () =>
  new AppError('payload_too_large', `the log until there has more than ${mostEvents} events or 64 MiB; fork earlier`)

const lastOf = (stored: readonly SessionEvent[]): number => stored.at(-1)?.seq ?? 0

/** What the new session is made of: as the one before, but for what the request names. */
function creationOf(from: SessionRow, { agent_id, version, model, runtime, title }: ForkRequest) {
  const agentId = agent_id ?? (from.agent_id === '' ? undefined : from.agent_id)
  const isSameAgent = agentId === from.agent_id
  const kept = isSameAgent ? (from.agent_version ?? undefined) : undefined
  const wanted = version ?? kept
  return {
    title: title ?? `${from.title.slice(0, longestTitle - 7)} (fork)`,
    ...(agentId !== undefined && { agent_id: agentId }),
    ...(wanted !== undefined && agentId !== undefined && { agent_version: wanted }),
    ...((runtime !== undefined || isSameAgent || agentId === undefined) && { runtime: runtime ?? from.runtime }),
    metadata: { ...from.metadata },
    environment: { ...from.environment, ...(model !== undefined && { model }) },
    ...(from.timezone !== null && { timezone: from.timezone }),
  }
}
