import type { Pool } from 'pg'
import type { FeedEvent } from '../../../contract/events.ts'
import type { MetadataMap } from '../../platform/metadata.ts'
import { type Row, toEvent } from './event-store.ts'

/** Position of an event in the order over all logs: transaction, then session and number. */
export interface Place {
  /** Transaction id of PostgreSQL (64 bits) as a decimal string. */
  readonly xid: string
  readonly sessionId: string
  readonly seq: number
}

export const firstPlace: Place = { xid: '0', sessionId: '', seq: 0 }

/** Selects sessions; an undefined field does not filter. */
export interface FeedFilter {
  readonly owner: string | undefined
  readonly agentId: string | undefined
  readonly metadata: MetadataMap | undefined
}

export interface FedEvent {
  readonly place: Place
  readonly event: FeedEvent
}

/** A page of the feed over all logs. */
export interface FeedPage {
  readonly events: readonly FedEvent[]
  /** Where the next page starts; events of filtered-out sessions may lie between. */
  readonly reached: Place
  /** More events can be read now. */
  readonly hasMore: boolean
  /** Committed events exist that cannot be returned yet, because an older transaction is open. */
  readonly hasUnsettled: boolean
}

interface PageRow extends Omit<Row, 'id'> {
  readonly xid: string
  readonly session_id: string
  readonly id: string | null
  readonly candidates: number
  readonly is_held: boolean
}

/** Limits of one query: events of all sessions, and bytes of the returned ones. */
const maxScannedEvents = 500
const pageBytes = 256 * 1024
const envelopeBytes = 200

const settled = 'pg_snapshot_xmin(pg_current_snapshot())'

const pageText = `
  with candidates as (
    select xid, session_id, seq, coalesce(bytes, octet_length(payload::text)) + ${envelopeBytes} as size
    from session_events
    where (xid, session_id, seq) > ($1::xid8, $2, $3) and xid < ${settled}
    order by xid, session_id, seq limit ${maxScannedEvents}
  ), sized as (
    select c.*, s.id is not null as is_shown, count(*) over () as candidates,
           sum(case when s.id is not null then size else 0 end) over (order by c.xid, c.session_id, c.seq) - size as before
    from candidates c left join sessions s on s.id = c.session_id and s.purged_at is null
      and ($4::text is null or s.owner_id = $4) and ($5::text is null or s.agent_id = $5)
      and ($6::jsonb is null or exists (select from session_metadata m where m.session_id = s.id and m.metadata @> $6::jsonb))
  )
  select held.is_held, sized.xid::text, sized.session_id, sized.seq::int8, sized.candidates, e.id, e.type, e.payload, e.created_at
  from (select exists (select from session_events where xid >= ${settled}) as is_held) held
  left join sized on before < ${pageBytes}
  left join session_events e on is_shown and e.session_id = sized.session_id and e.seq = sized.seq
  order by sized.xid, sized.session_id, sized.seq`

const endText = `
  select ${settled}::text as xid, pg_snapshot_xmax(pg_current_snapshot()) > $1::xid8 as is_known,
         coalesce((select xid >= pg_snapshot_xmax(pg_current_snapshot()) from session_events order by xid desc limit 1), false) as is_strange`

/** The logs of all sessions in one append-only order: no event is ever inserted before a returned one. */
export type FeedStore = ReturnType<typeof feedStore>

export function feedStore(pool: Pool) {
  return {
    /** Returns the matching events after `after`, and the position that was reached. */
    async page(after: Place, { owner, agentId, metadata }: FeedFilter): Promise<FeedPage> {
      const wanted = metadata && JSON.stringify(metadata)
      const values = [after.xid, after.sessionId, after.seq, owner, agentId, wanted]
      const { rows: found } = await pool.query<PageRow>({ name: 'feed_page', text: pageText, values })
      // Read in the same snapshot as the page, so that each event is either returned or reported as held back.
      const hasUnsettled = found[0]?.is_held ?? false
      const rows = found.filter(({ seq }) => seq !== null)
      const last = rows.at(-1)
      const hasMore = last !== undefined && (last.candidates === maxScannedEvents || rows.length < last.candidates)
      return { events: rows.flatMap(fedBy), reached: last ? placeOf(last) : after, hasMore, hasUnsettled }
    },

    /**
     * Returns the position after all settled events. Returns undefined when `cursor` has a transaction id that this
     * database has not reached: the database was then restored from a copy, which resets transaction ids.
     */
    async end(cursor: Place): Promise<Place | undefined> {
      const { rows } = await pool.query<{ xid: string; is_known: boolean; is_strange: boolean }>(endText, [cursor.xid])
      const [{ xid, is_known, is_strange } = nothing] = rows
      if (is_strange)
        await pool.query(`update session_events set xid = '0' where xid >= pg_snapshot_xmax(pg_current_snapshot())`)
      return is_known ? { xid, sessionId: '', seq: 0 } : undefined
    },
  }
}

const nothing = { xid: '0', is_known: false, is_strange: false }

const placeOf = ({ xid, session_id, seq }: PageRow): Place => ({ xid, sessionId: session_id, seq })

function fedBy(row: PageRow): FedEvent[] {
  const { id, type, payload, seq, created_at, session_id } = row
  if (id === null) return []
  return [{ place: placeOf(row), event: { ...toEvent({ id, type, payload, seq, created_at }), session_id } }]
}

/** Encodes a position as the cursor that clients store. */
export const cursorOf = ({ xid, sessionId, seq }: Place): string => `${xid}.${sessionId}.${seq}`

/** Decodes a cursor. Returns undefined when it is invalid. */
export function placeIn(cursor: string): Place | undefined {
  const [, xid, sessionId = '', seq] = /^(\d{1,19})\.(\w{0,100})\.(\d{1,15})$/.exec(cursor) ?? []
  return xid === undefined ? undefined : { xid, sessionId, seq: Number(seq) }
}
