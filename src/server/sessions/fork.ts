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
  readonly eventLog: Pick<EventLog, 'appendByCaller' | 'publish'>
  readonly runtimes: Pick<RuntimeRegistry, 'find'>
}

interface By {
  readonly caller: Caller
  readonly idempotency: Idempotency | undefined
}

/** Limits of the copied log, which one statement copies. */
const maxEvents = 50_000
const maxBytes = 64 * 1024 * 1024
const page = 500
const maxTitleLength = 200

/** Point at which a session is forked. */
interface Cut {
  /** Number of the last event that is copied. */
  readonly seq: number
  readonly point: ForkPoint
}

/** Forks a session: the new one starts with the log of the old one up to an event, and with its files at that point. */
export type Fork = ReturnType<typeof createFork>

export function createFork(deps: Deps) {
  const { pool, sessions, store, forks, events, history, eventLog, runtimes } = deps

  /** Returns the last event that the request includes; for an opencode message, the event before that message. */
  async function lastCopiedSeq({ id, next_seq }: SessionRow, { messageID, event_id }: ForkRequest): Promise<number> {
    if (messageID !== undefined && event_id !== undefined)
      throw invalid('messageID and event_id are mutually exclusive')
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

  /** Reads the log up to `last`. An event inside a step moves the cut to the last complete step before it. */
  async function cutAt(id: string, last: number): Promise<Cut> {
    const point = new ForkPoint()
    for await (const event of eventsUntil(id, last)) point.add(event)
    return point.stepBefore === undefined ? { seq: last, point } : cutAt(id, point.stepBefore)
  }

  async function* eventsUntil(id: string, last: number): AsyncGenerator<SessionEvent> {
    if (last > maxEvents) throw tooLong()
    let bytes = 0
    for (let after = 0; after < last; ) {
      const { events: some, bytes: more } = await history.after(id, after, Math.min(page, last - after))
      bytes += more
      if (bytes > maxBytes) throw tooLong()
      yield* some
      after = some.at(-1)?.seq ?? last
    }
  }

  /** Returns whether the new runtime reads the copied log itself, or gets it as a transcript. */
  async function contextOf(from: SessionRow, runtime: string): Promise<'log' | 'transcript'> {
    const reads = (await runtimes.find(runtime))?.reads
    if (reads === 'any log') return 'log'
    if (reads !== 'own log' || runtime !== from.runtime) return 'transcript'
    const [mark] = from.forked_at_seq === null ? [] : await events.page(from.id, from.forked_at_seq - 1, 1)
    return mark?.context === 'transcript' ? 'transcript' : 'log'
  }

  async function begin(client: PoolClient, from: SessionRow, { body, cut, caller }: Begin) {
    const copy = (id: string) => forks.copy(client, { id, fromId: from.id, seq: cut.seq })
    const created = await sessions.createWithin(client, {
      body: creationOf(from, body),
      caller,
      messages: [],
      owner: from.owner_id,
      begin: copy,
    })
    const context = await contextOf(from, created.runtime)
    const forked = { type: 'session.forked', forked_from: { session_id: from.id, seq: cut.seq }, context } as const
    const appended = await eventLog.appendByCaller(client, created.id, [...cut.point.closing(), forked])
    await forks.close(client, created.id, lastOf(appended.events))
    const row = await store.find(created.id, undefined, client)
    if (!row) throw new Error(`session ${created.id} is missing right after its creation (bug)`)
    const publish = () => {
      created.publish()
      eventLog.publish(appended)
    }
    return { session: toSession(row), ignored: created.ignored, publish }
  }

  /** Errors: `not_found`, `invalid_request`, `payload_too_large` for a log of more than 50,000 events or 64 MiB. */
  return async (
    id: string,
    body: ForkRequest,
    { caller, idempotency }: By,
  ): Promise<{ readonly session: Session; readonly ignored: readonly string[] }> => {
    const from = await sessions.open(id, caller)
    const cut = await cutAt(id, await lastCopiedSeq(from, body))
    let ignored: readonly string[] = []
    let publish = () => undefined as void
    const session = await transaction(pool, client =>
      once(sqlOfClient(client), idempotency, async () => {
        const begun = await begin(client, from, { body, cut, caller })
        ignored = begun.ignored
        publish = begun.publish
        return begun.session
      }),
    )
    publish()
    return { session, ignored }
  }
}

interface Begin {
  readonly body: ForkRequest
  readonly cut: Cut
  readonly caller: Caller
}

const tooLong = () =>
  new AppError(
    'payload_too_large',
    `log up to that point exceeds ${maxEvents} events or 64 MiB; fork at an earlier event`,
  )

const lastOf = (stored: readonly SessionEvent[]): number => stored.at(-1)?.seq ?? 0

/** Returns the creation body of the fork: the fields of the old session, replaced by those of the request. */
function creationOf(from: SessionRow, { agent_id, version, model, runtime, title }: ForkRequest) {
  const agentId = agent_id ?? (from.agent_id === '' ? undefined : from.agent_id)
  const isSameAgent = agentId === from.agent_id
  const kept = isSameAgent ? (from.agent_version ?? undefined) : undefined
  const wanted = version ?? kept
  return {
    title: title ?? `${from.title.slice(0, maxTitleLength - 7)} (fork)`,
    ...(agentId !== undefined && { agent_id: agentId }),
    ...(wanted !== undefined && agentId !== undefined && { agent_version: wanted }),
    ...((runtime !== undefined || isSameAgent || agentId === undefined) && { runtime: runtime ?? from.runtime }),
    metadata: { ...from.metadata },
    environment: { ...from.environment, ...(model !== undefined && { model }) },
    ...(from.timezone !== null && { timezone: from.timezone }),
  }
}
