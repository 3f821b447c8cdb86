import type { Pool, PoolClient } from 'pg'
import type { EndpointDelivery } from '../../contract/webhook-endpoints.ts'
import { databaseTime } from '../db/database-time.ts'
import { isKeyValid } from './endpoint-store.ts'
import type { Sending } from './send.ts'

/** A replica's claim on the events of one session for one endpoint. */
export interface Claim {
  readonly endpoint_id: string
  readonly session_id: string
  readonly claim: string
  /** Last event that was handled. */
  readonly seq: number
  /** Attempts so far for the next event. */
  readonly attempts: number
}

/** An event to send. */
export interface SentEvent {
  readonly session_id: string
  readonly agent_id: string
  readonly seq: number
  readonly id: string
  readonly type: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly created_at: Date
}

/** The next event for an endpoint in a session. */
export interface Next {
  readonly url: string
  /** Last event of the log at the time of the query. */
  readonly last_seq: number
  readonly event: SentEvent | undefined
}

/** Result of an attempt. */
export interface Attempt {
  readonly event: SentEvent
  readonly sending: Sending
  readonly state: EndpointDelivery['state']
  readonly attempts: number
  /** Delay before the next attempt; null after the last. */
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

/** SQL that is true for a session that replays recorded results, as `isReplay` decides. It must reach nothing outside. */
const isReplay = `
  (s.runtime = 'builtin' and s.environment ->> 'source' = 'experiment' and s.environment ->> 'replay' = 'true')`

/** SQL that is true for sessions whose events endpoint `e` gets. */
const isSubscribed = `
  (e.owner_id is null or s.owner_id = e.owner_id) and (e.agent_ids = '{}' or s.agent_id = any (e.agent_ids))
  and not coalesce(${isReplay}, false)`
/** Matched as text: PostgreSQL's JSON operators reject the NUL escape, which text of a model may contain. */
const retrying = '"retry_status":{"type":"retrying"'

/**
 * SQL that is true for events that endpoint `e` selects, by exact type or by prefix. An error after which the model
 * call is retried is not sent.
 */
const isSelected = `
  case v.type when 'session.error' then strpos(v.payload::text, '${retrying}') = 0 else true end
  and (e.events = '{}' or v.type = any (e.events) or exists (
    select from unnest(e.events) as wanted
    where right(wanted, 1) = '*' and starts_with(v.type, left(wanted, -1))))`

/**
 * Marks the cursors of endpoints as ready in sessions with new events. A new cursor starts after the events that are
 * older than the endpoint. Endpoints are locked before their cursors, both in one order, so that deletions and other
 * replicas cannot deadlock with this.
 */
const markReadyText = (which: string) => `
  insert into webhook_cursors (endpoint_id, session_id, seq, ready_at)
  select e.id, s.id,
         -- Events copied by a fork were delivered in the original session.
         greatest(coalesce(s.forked_at_seq, 1) - 1,
                  coalesce((select seq from session_events v where v.session_id = s.id and v.created_at < e.created_at
                            order by seq desc limit 1), 0)),
         clock_timestamp()
  from webhook_endpoints e join sessions s on ${isSubscribed}
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
    where v.session_id = s.id and v.seq > $3 and ${isSubscribed} and ${isSelected} order by v.seq limit 1
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
    now: (): Promise<Date> => databaseTime(pool),

    /** Marks the cursors of these sessions as ready; returns how many have something to send. */
    async markReady(sessionIds: readonly string[]): Promise<number> {
      const { rowCount } = await pool.query(markReadyText('s.id = any ($1)'), [sessionIds])
      return rowCount ?? 0
    },

    /** Like `markReady`, for all sessions changed since; undefined: for all sessions. */
    async markAllReady(since: Date | undefined): Promise<void> {
      await pool.query(markReadyText('($1::timestamptz is null or s.updated_at > $1)'), [since])
    },

    /** Claims a ready cursor for 20 s; skips cursors of other replicas and of the `busy` endpoints. */
    async claim(claim: string, busy: readonly string[]): Promise<Claim | undefined> {
      const { rows } = await pool.query<Claim>({ name: 'claim_cursor', text: claimText, values: [claim, busy] })
      return rows[0]
    },

    /** Returns the next event; undefined when the endpoint is no longer active. */
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

    /** Releases the claim and moves the cursor to `seq`; the cursor stays ready if there are newer events. */
    async releaseAt({ endpoint_id, session_id, claim }: Claim, seq: number): Promise<void> {
      const text = `
        update webhook_cursors c set seq = $4, claim = null, ready_at = case when s.next_seq - 1 > $4 then clock_timestamp() end
        from sessions s where c.endpoint_id = $1 and c.session_id = $2 and c.claim = $3 and s.id = c.session_id`
      await pool.query(text, [endpoint_id, session_id, claim, seq])
    },

    /** Releases the claim with the cursor unchanged; it is ready again after `waitMs`. */
    async release({ endpoint_id, session_id, claim }: Claim, waitMs: number): Promise<void> {
      const text = `
        update webhook_cursors set claim = null, ready_at = ${inMs('$4::float8')}
        where endpoint_id = $1 and session_id = $2 and claim = $3`
      await pool.query(text, [endpoint_id, session_id, claim, waitMs])
    },

    /** Advances the cursor, or keeps it for the next attempt. Returns false when another replica has the claim. */
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

    /** Records an attempt. `id` is the id of the delivery if this is its first record. */
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

    /** Records success or failure; returns for how long deliveries have failed in milliseconds, 0 after a success. */
    async recordHealth(on: PoolClient, endpointId: string, isDelivered: boolean): Promise<number> {
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

    /** Returns deliveries, newest first. */
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
