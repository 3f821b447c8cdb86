import type { Pool, PoolClient } from 'pg'
import type { EndpointDelivery } from '../../contract/webhook-endpoints.ts'
import { isKeyValid } from './endpoint-store.ts'
import type { Sending } from './send.ts'

/** A replica's hold on what one endpoint gets of one session. */
export interface Claim {
  readonly endpoint_id: string
  readonly session_id: string
  readonly claim: string
  /** The last event that is done with. */
  readonly seq: number
  /** Of the event that comes next. */
  readonly attempts: number
}

/** An event as it is sent. */
export interface SentEvent {
  readonly session_id: string
  readonly agent_id: string
  readonly seq: number
  readonly id: string
  readonly type: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly created_at: Date
}

/** What comes next for an endpoint in a session. */
export interface Next {
  readonly url: string
  /** The end of the log as it was looked at. */
  readonly last_seq: number
  readonly event: SentEvent | undefined
}

/** How an attempt ended. */
export interface Attempt {
  readonly event: SentEvent
  readonly sending: Sending
  readonly state: EndpointDelivery['state']
  readonly attempts: number
  /** Until the next attempt; null after the last. */
  readonly retryMs: number | null
}

interface DeliveryRow extends Omit<EndpointDelivery, 'next_attempt_at' | 'created_at' | 'finished_at'> {
  readonly next_attempt_at: Date | null
  readonly created_at: Date
  readonly finished_at: Date | null
}

interface ListOf {
  readonly endpointId: string
  readonly state: string | undefined
  readonly sessionId: string | undefined
  readonly after: string | undefined
  readonly limit: number
}

type Queryable = Pool | PoolClient

const leaseMs = 20_000
const inMs = (parameter: string) => `clock_timestamp() + ${parameter} * interval '1 millisecond'`

/** True for sessions whose events an endpoint gets. */
const isHeard = `
  (e.owner_id is null or s.owner_id = e.owner_id) and (e.agent_ids = '{}' or s.agent_id = any (e.agent_ids))`
/** As the log writes it. The database's own look into JSON refuses the NUL escape, which words of a model may hold. */
const retrying = '"retry_status":{"type":"retrying"'

/**
 * Types as they are, and prefixes; the contract lets no other sign of a pattern in than the underscore. An error that is
 * tried again is none yet.
 */
const isWanted = `
  case v.type when 'session.error' then strpos(v.payload::text, '${retrying}') = 0 else true end
  and (e.events = '{}' or v.type = any (e.events) or exists (
    select from unnest(e.events) as wanted
    where right(wanted, 1) = '*' and starts_with(v.type, left(wanted, -1))))`

/**
 * Gives endpoints a place in the sessions that went on: behind what was there before the endpoint was. Endpoints are locked
 * before their places, and both in one order, so that no deletion and no other replica waits in a circle with this.
 */
const noteText = (which: string) => `
  insert into webhook_cursors (endpoint_id, session_id, seq, ready_at)
  select e.id, s.id,
         -- What was copied from another session was delivered there.
         greatest(coalesce(s.forked_at_seq, 1) - 1,
                  coalesce((select seq from session_events v where v.session_id = s.id and v.created_at < e.created_at
                            order by seq desc limit 1), 0)),
         clock_timestamp()
  from webhook_endpoints e join sessions s on ${isHeard}
  left join webhook_cursors c on c.endpoint_id = e.id and c.session_id = s.id
  where e.status = 'active' and s.purged_at is null and ${which}
    and s.updated_at >= e.created_at and s.next_seq - 1 > coalesce(c.seq, 0) and c.ready_at is null
  order by e.id, s.id for key share of e
  on conflict (endpoint_id, session_id) do update set ready_at = excluded.ready_at
    where webhook_cursors.ready_at is null`

const claimText = `
  with ready as (
    select c.endpoint_id, c.session_id from webhook_cursors c join webhook_endpoints e on e.id = c.endpoint_id
    where c.ready_at <= clock_timestamp() and e.status = 'active' and ${isKeyValid} and c.endpoint_id <> all ($2)
    order by c.ready_at limit 1 for update of c skip locked
  )
  update webhook_cursors c set claim = $1, ready_at = ${inMs(String(leaseMs))}
  from ready where c.endpoint_id = ready.endpoint_id and c.session_id = ready.session_id
  returning c.endpoint_id, c.session_id, c.claim, c.seq, c.attempts`

const nextText = `
  select e.url, s.next_seq - 1 as last_seq, s.agent_id, v.seq, v.id, v.type, v.payload, v.created_at
  from webhook_endpoints e join sessions s on s.id = $2
  left join lateral (
    select v.* from session_events v
    where v.session_id = s.id and v.seq > $3 and ${isHeard} and ${isWanted} order by v.seq limit 1
  ) v on true
  where e.id = $1 and e.status = 'active' and ${isKeyValid}`

const logText = `
  insert into webhook_endpoint_deliveries as d
    (endpoint_id, session_id, seq, id, event_id, event_type, state, attempts, http_status, error, duration_ms,
     next_attempt_at, finished_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, ${inMs('$12::float8')}, case when $7 <> 'pending' then clock_timestamp() end)
  on conflict (endpoint_id, session_id, seq) do update
  set state = excluded.state, attempts = d.attempts + 1, http_status = excluded.http_status, error = excluded.error,
      duration_ms = excluded.duration_ms, next_attempt_at = excluded.next_attempt_at, finished_at = excluded.finished_at`

const shown = `
  id, endpoint_id, session_id, seq, event_id, event_type, state, attempts, http_status, error, duration_ms,
  next_attempt_at, created_at, finished_at`

/** Tables `webhook_cursors` and `webhook_endpoint_deliveries`. */
export type DeliveryStore = ReturnType<typeof deliveryStore>

export function deliveryStore(pool: Pool) {
  return {
    async now(): Promise<Date> {
      const { rows } = await pool.query<{ now: Date }>('select clock_timestamp() as now')
      return rows[0]?.now ?? new Date()
    },

    /** Takes note of new events of these sessions; how many places have something to send. */
    async note(sessionIds: readonly string[]): Promise<number> {
      const { rowCount } = await pool.query(noteText('s.id = any ($1)'), [sessionIds])
      return rowCount ?? 0
    },

    /** As `note`, for all sessions that were changed since; undefined: for all. */
    async noteAll(since: Date | undefined): Promise<void> {
      await pool.query(noteText('($1::timestamptz is null or s.updated_at > $1)'), [since])
    },

    /** Something to send, held for 20 s. Another replica's, and those of the endpoints named, are passed over. */
    async claim(claim: string, busy: readonly string[]): Promise<Claim | undefined> {
      const { rows } = await pool.query<Claim>({ name: 'claim_cursor', text: claimText, values: [claim, busy] })
      return rows[0]
    },

    /** Undefined: the endpoint is not active any more. */
    async next({ endpoint_id, session_id, seq }: Claim): Promise<Next | undefined> {
      const { rows } = await pool.query<{ url: string; last_seq: number } & SentEvent>(nextText, [
        endpoint_id,
        session_id,
        seq,
      ])
      const [row] = rows
      if (!row) return undefined
      const { url, last_seq, ...event } = row
      return { url, last_seq, event: event.id === null ? undefined : { ...event, session_id } }
    },

    /** Gives the claim back behind `seq`; it is looked at again at once when there is more by now. */
    async rest({ endpoint_id, session_id, claim }: Claim, seq: number): Promise<void> {
      const text = `
        update webhook_cursors c set seq = $4, claim = null, ready_at = case when s.next_seq - 1 > $4 then clock_timestamp() end
        from sessions s where c.endpoint_id = $1 and c.session_id = $2 and c.claim = $3 and s.id = c.session_id`
      await pool.query(text, [endpoint_id, session_id, claim, seq])
    },

    /** Gives the claim back as it was, for later. */
    async giveBack({ endpoint_id, session_id, claim }: Claim, waitMs: number): Promise<void> {
      const text = `
        update webhook_cursors set claim = null, ready_at = ${inMs('$4::float8')}
        where endpoint_id = $1 and session_id = $2 and claim = $3`
      await pool.query(text, [endpoint_id, session_id, claim, waitMs])
    },

    /** Moves the place on, or keeps it for the next attempt. False when the claim is somebody else's by now. */
    async settle(on: PoolClient, { endpoint_id, session_id, claim }: Claim, attempt: Attempt): Promise<boolean> {
      const isOver = attempt.state !== 'pending'
      const text = `
        update webhook_cursors
        set seq = case when $4 then $5 else seq end, attempts = case when $4 then 0 else $6 end,
            claim = case when $4 then claim end, ready_at = ${inMs('$7::float8')}
        where endpoint_id = $1 and session_id = $2 and claim = $3`
      const values = [isOver, attempt.event.seq, attempt.attempts, isOver ? leaseMs : attempt.retryMs]
      const { rowCount } = await on.query(text, [endpoint_id, session_id, claim, ...values])
      return rowCount === 1
    },

    /** Writes an attempt down. `id` names a delivery that is told of for the first time. */
    async log(
      on: Queryable,
      { endpoint_id, id }: { endpoint_id: string; id: string },
      attempt: Attempt,
    ): Promise<void> {
      const { event, sending, state, attempts, retryMs } = attempt
      const { httpStatus, error, durationMs } = sending
      const names = [endpoint_id, event.session_id, event.seq, id, event.id, event.type]
      await on.query(logText, [...names, state, attempts, httpStatus, error, durationMs, retryMs])
    },

    /** For how long nothing was delivered, in milliseconds; 0 after a success. */
    async noteHealth(on: PoolClient, endpointId: string, isDelivered: boolean): Promise<number> {
      const text = isDelivered
        ? 'update webhook_endpoints set failing_since = null where id = $1 and failing_since is not null returning 0 as ms'
        : `update webhook_endpoints set failing_since = coalesce(failing_since, clock_timestamp()) where id = $1
           returning (extract(epoch from clock_timestamp() - failing_since) * 1000)::float8 as ms`
      const { rows } = await on.query<{ ms: number }>(text, [endpointId])
      return rows[0]?.ms ?? 0
    },

    async find(endpointId: string, id: string): Promise<EndpointDelivery | undefined> {
      const text = `select ${shown} from webhook_endpoint_deliveries where endpoint_id = $1 and id = $2`
      const { rows } = await pool.query<DeliveryRow>(text, [endpointId, id])
      return rows[0] && toDelivery(rows[0])
    },

    /** Newest first. */
    async list({ endpointId, state, sessionId, after, limit }: ListOf): Promise<EndpointDelivery[]> {
      const text = `
        select ${shown} from webhook_endpoint_deliveries
        where endpoint_id = $1 and ($2::text is null or state = $2) and ($3::text is null or session_id = $3)
          and ($4::text is null or id < $4)
        order by id desc limit $5`
      const { rows } = await pool.query<DeliveryRow>(text, [endpointId, state, sessionId, after, limit])
      return rows.map(toDelivery)
    },

    async event(sessionId: string, seq: number): Promise<SentEvent | undefined> {
      const text = `
        select v.session_id, s.agent_id, v.seq, v.id, v.type, v.payload, v.created_at
        from session_events v join sessions s on s.id = v.session_id where v.session_id = $1 and v.seq = $2`
      return (await pool.query<SentEvent>(text, [sessionId, seq])).rows[0]
    },
  }
}

const toDelivery = ({ next_attempt_at, created_at, finished_at, ...row }: DeliveryRow): EndpointDelivery => ({
  ...row,
  next_attempt_at: next_attempt_at?.toISOString() ?? null,
  created_at: created_at.toISOString(),
  finished_at: finished_at?.toISOString() ?? null,
})
