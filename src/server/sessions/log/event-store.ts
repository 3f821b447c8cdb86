import type { Pool, PoolClient } from 'pg'
import type { NewEvent, SessionEvent } from '../../../contract/events.ts'
import { hint } from '../../db/hints.ts'
import { newId } from '../../platform/ids.ts'
import { eventsChannel } from './log-page.ts'

/** The lease of a runner on a session. Every write of the runner carries its fence. */
export interface Lease {
  readonly sessionId: string
  readonly fence: number
}

interface Stored {
  readonly seq: number
  readonly created_at: Date
}

/** Columns that the database assigns to a stored event. */
export interface StoredRow extends Stored {
  readonly owner_id: string | null
}

/** Target of a write: the pool for a separate write, a client for one inside a transaction. */
export type Queryable = Pool | PoolClient

const appendText = 'select * from append_events($1, $2, $3, $4, $5, $6)'

const pageText = `
  select seq, id, type, payload, created_at from session_events
  where session_id = $1 and seq > $2 order by seq limit $3`

/** Bytes of a page for stream readers. Slow readers keep one page each in memory. */
export const pageBytes = 256 * 1024
const pageEvents = 200
/** Bytes of one response of the list route. */
const listBytes = 4 * 1024 * 1024
/** Approximate bytes that an event's own fields add to its payload. */
const envelopeBytes = 160
const sizeOf = `coalesce(bytes, octet_length(payload::text)) + ${envelopeBytes}`

// Reads only the sizes of the candidates, then the payloads of those that fit. The end of the page is computed once, as
// a number: for a session newer than the table statistics the planner would recompute it for each of its events.
const boundedPageText = `
  with log as (select next_seq - 1 as last from sessions where id = $1),
  sized as (
    select seq, sum(${sizeOf}) over (order by seq) as upto
    from (
      select seq, bytes, payload from session_events where session_id = $1 and seq > $2 order by seq limit ${pageEvents}
    ) candidates
  )
  select log.last, e.seq, e.id, e.type, e.payload, e.created_at
  from log left join session_events e on e.session_id = $1 and e.seq > $2
    and e.seq <= (select max(seq) from sized where upto <= ${pageBytes} or seq = $2 + 1)
  order by e.seq`

/** A page of a log with the number of the log's last event. */
export interface BoundedPage {
  readonly events: readonly SessionEvent[]
  readonly last: number
}

/** Table `session_events`: the log of each session, numbered 1, 2, 3 ... without a gap. */
export type EventStore = ReturnType<typeof eventStore>

export function eventStore(pool: Pool) {
  return {
    /** Appends events to the log. Returns undefined when a later fence owns the session, or it was deleted. */
    async appendFenced(
      lease: Lease,
      events: readonly NamedEvent[],
      on: Queryable = pool,
    ): Promise<SessionEvent[] | undefined> {
      const { sessionId, fence } = lease
      const values = [sessionId, fence, ...columnsOf(events)]
      const { rows } = await on.query<StoredRow>({ name: 'append_events', text: appendText, values })
      return appended(on, sessionId, events, rows)
    },

    /** Appends events of a caller, independent of the owner. Returns undefined when the session was deleted. */
    async append(
      sessionId: string,
      events: readonly NamedEvent[],
      on: Queryable = pool,
    ): Promise<SessionEvent[] | undefined> {
      const values = [sessionId, null, ...columnsOf(events)]
      const { rows } = await on.query<StoredRow>({ name: 'append_events', text: appendText, values })
      return appended(on, sessionId, events, rows)
    },

    /** Returns those of the given events that the log has: an append whose response was lost may have committed. */
    async stored(sessionId: string, events: readonly NamedEvent[], on: Queryable = pool): Promise<SessionEvent[]> {
      const text = `
        select seq, id, type, payload, created_at from session_events where session_id = $1 and id = any ($2) order by seq`
      const { rows } = await on.query<Row>(text, [sessionId, events.map(({ id }) => id)])
      return rows.map(toEvent)
    },

    /** Returns an event of a session; undefined when the log does not have it. Fast for one of the last events. */
    async byId(on: Queryable, sessionId: string, id: string): Promise<SessionEvent | undefined> {
      const text = `
        select seq, id, type, payload, created_at from session_events
        where session_id = $1 and id = $2 order by seq desc limit 1`
      const { rows } = await on.query<Row>(text, [sessionId, id])
      return rows[0] && toEvent(rows[0])
    },

    /** Blocks all other writers of the log until the transaction ends. */
    async lock(sessionId: string, on: Queryable): Promise<void> {
      await on.query('select from sessions where id = $1 for update', [sessionId])
    },

    /** Returns up to `limit` events after `after`, in order. */
    async page(sessionId: string, after: number, limit: number): Promise<SessionEvent[]> {
      const { rows } = await pool.query<Row>({ name: 'event_page', text: pageText, values: [sessionId, after, limit] })
      return rows.map(toEvent)
    },

    /**
     * Returns the events after `after`, in order: up to 256 KB, or the next one if it is larger. Events and length come
     * from one snapshot. Returns undefined when the session does not exist.
     */
    async boundedPage(sessionId: string, after: number): Promise<BoundedPage | undefined> {
      const { rows } = await pool.query<Row & { last: number }>({
        name: 'bounded_page',
        text: boundedPageText,
        values: [sessionId, after],
      })
      const [first] = rows
      return first && { last: first.last, events: rows.filter(({ seq }) => seq !== null).map(toEvent) }
    },

    /**
     * Returns events filtered by type and time, in either order: at most `limit` and 4 MB, or one event if it is
     * larger. Undefined types select all.
     */
    async list({ sessionId, after, limit, order, types, from, before }: ListQuery): Promise<ListPage> {
      const text = `
        with candidates as (
          select seq, bytes, payload from session_events
          where session_id = $1 and seq ${order === 'asc' ? '>' : '<'} $2 and ($4::text[] is null or type = any ($4))
            and ($5::timestamptz is null or created_at >= $5) and ($6::timestamptz is null or created_at < $6)
          order by seq ${order} limit $3 + 1
        ), sized as (
          select seq, row_number() over (order by seq ${order}) as place, sum(${sizeOf}) over (order by seq ${order}) as upto,
                 count(*) over () as found
          from candidates
        )
        select s.found, e.seq, e.id, e.type, e.payload, e.created_at
        from sized s cross join lateral (
          select * from session_events where session_id = $1 and seq = s.seq limit 1
        ) e
        where s.place <= $3 and (s.place = 1 or s.upto <= ${listBytes})
        order by e.seq ${order}`
      const values = [sessionId, after, limit, types ?? null, from, before]
      const { rows } = await pool.query<Row & { found: number }>(text, values)
      return { data: rows.map(toEvent), hasMore: (rows[0]?.found ?? 0) > rows.length }
    },

    /** Returns the number of an event; undefined when the log does not have it. */
    async seqOfEvent(sessionId: string, id: string): Promise<number | undefined> {
      const text = 'select seq from session_events where session_id = $1 and id = $2 order by seq limit 1'
      return (await pool.query<{ seq: number }>(text, [sessionId, id])).rows[0]?.seq
    },

    /** Returns the number of the event that queued a prompt. */
    async seqOfPrompt(sessionId: string, promptId: string): Promise<number | undefined> {
      // JSON operators cannot be used: they fail on a payload with an escaped NUL.
      const text = `
        select seq from session_events
        where session_id = $1 and type = 'user.message' and strpos(payload::text, '"prompt_id":"' || $2 || '"') > 0
        order by seq desc limit 1`
      const { rows } = await pool.query<{ seq: number }>(text, [sessionId, promptId])
      return rows[0]?.seq
    },

    /** Returns the number of the oldest of the newest `count` user messages; undefined when there is none. */
    async seqOfNewestMessages(sessionId: string, count: number): Promise<number | undefined> {
      const text = `
        select min(seq) as seq from (
          select seq from session_events where session_id = $1 and type = 'user.message' order by seq desc limit $2
        ) newest`
      const { rows } = await pool.query<{ seq: number | null }>(text, [sessionId, count])
      return rows[0]?.seq ?? undefined
    },

    /** Returns the highest number in the log, 0 when it is empty; undefined when the session does not exist. */
    async lastSeq(sessionId: string): Promise<number | undefined> {
      const text = 'select next_seq - 1 as last from sessions where id = $1'
      const { rows } = await pool.query<{ last: number }>(text, [sessionId])
      return rows[0]?.last
    },

    /** Returns the highest number in each of these logs. */
    async lastSeqs(sessionIds: readonly string[]): Promise<{ id: string; last: number }[]> {
      const text = 'select id, next_seq - 1 as last from sessions where id = any ($1)'
      const { rows } = await pool.query<{ id: string; last: number }>(text, [sessionIds])
      return rows
    },
  }
}

/** Returns the stored events and notifies all processes of them; undefined when no row was stored. */
export function appended(
  on: Queryable,
  sessionId: string,
  events: readonly NamedEvent[],
  rows: readonly StoredRow[],
): SessionEvent[] | undefined {
  const [first] = rows
  const last = rows.at(-1)
  if (!first || !last) return undefined
  hint(on, eventsChannel, `${sessionId} ${last.seq} ${first.seq} ${first.owner_id ?? ''}`)
  return rows.flatMap((row, at) => {
    const event = events[at]
    return event ? [toEvent({ ...row, ...event })] : []
  })
}

export interface ListPage {
  readonly data: readonly SessionEvent[]
  /** True when more events follow. */
  readonly hasMore: boolean
}

export interface ListQuery {
  readonly sessionId: string
  readonly after: number
  readonly limit: number
  readonly order: 'asc' | 'desc'
  readonly types: readonly string[] | undefined
  /** Inclusive start of the time range; unbounded by default. */
  readonly from?: Date | undefined
  /** Exclusive end of the time range; unbounded by default. */
  readonly before?: Date | undefined
}

/** An event as stored in the table. */
export interface Row extends Stored {
  readonly id: string
  readonly type: string
  readonly payload: Record<string, unknown>
}

/** An event with an id, so that a repeated append can be recognised. */
export interface NamedEvent {
  readonly id: string
  readonly type: string
  readonly payload: Readonly<Record<string, unknown>>
}

/** Gives an event an id, unless it has one. */
export const withId = ({ id, type, ...payload }: NewEvent): NamedEvent => ({ id: id ?? newId('evt'), type, payload })

/** Returns ids, types and payloads of events as columns, and the total size of the payloads in bytes. */
export function columnsOf(events: readonly NamedEvent[]): unknown[] {
  const payloads = events.map(({ payload }) => JSON.stringify(payload))
  const bytes = payloads.reduce((sum, payload) => sum + Buffer.byteLength(payload), 0)
  return [events.map(({ id }) => id), events.map(({ type }) => type), payloads, bytes]
}

/** Builds an event with its fields in a fixed order, so that list and stream return the same bytes. */
export const toEvent = ({ id, type, created_at, seq, payload }: Row): SessionEvent =>
  // The only cast from rows to events: `withId` is the only writer of payloads, and it takes typed events.
  ({ id, type, processed_at: created_at.toISOString(), seq, ...payload }) as SessionEvent
