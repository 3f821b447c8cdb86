import type { Pool, PoolClient } from 'pg'
import { transaction } from '../../db/connect.ts'
import { hint } from '../../db/hints.ts'
import type { ResponseName } from '../responses/store.ts'
import {
  type BackgroundStatus,
  type Claim,
  type EventPage,
  type EventRow,
  eventsChannel,
  type NewEnd,
  type NewResponse,
  type Progress,
  placeOf,
  queuedChannel,
  type RequestRow,
  type StoppedPayers,
  stoppedChannel,
} from './rows.ts'

type Claimed = Pick<Claim, 'principal' | 'id' | 'fence'>

const isOpen = `status in ('queued', 'in_progress')`
/** Time until a claim expires without renewal, by the database clock. */
const lease = `clock_timestamp() + interval '15 seconds'`
const lifetime = `interval '30 days'`
const claimColumns = `
  b.principal, b.id, b.fence, b.api_key_id, r.previous_id, b.is_stream, b.status, b.next_event, b.starts, b.is_cancelled,
  b.created_at, b.version, b.sealed`
const maxPageRows = 64
const maxPageBytes = 256 * 1024

const claimText = `
  update background_responses b
  set fence = b.fence + 1, starts = b.starts + 1, lease_owner = $1, lease_until = ${lease}
  from (
    select principal, id from background_responses
    where ${isOpen} and due_at <= clock_timestamp() and (lease_until is null or lease_until < clock_timestamp())
      and coalesce(api_key_id, '') <> all ($2)
    order by due_at limit 1 for update skip locked
  ) c join responses r using (principal, id)
  where b.principal = c.principal and b.id = c.id
  returning ${claimColumns}`

const renewText = `
  update background_responses b set lease_until = ${lease}
  from unnest($2::text[], $3::text[], $4::bigint[]) as c (principal, id, fence)
  where b.principal = c.principal and b.id = c.id and b.fence = c.fence and b.lease_owner = $1 and b.${isOpen}
  returning b.id`

const insertEventsText = `
  insert into background_events (principal, id, place, last_event, version, sealed, key_id) values ($1, $2, $3, $4, $5, $6, $7)`

const appendText = `
  with mine as (
    update background_responses set status = 'in_progress', next_event = $4
    where principal = $1 and id = $2 and fence = $3 and ${isOpen} returning principal, id
  ), stored as (
    insert into background_events (principal, id, place, last_event, version, sealed, key_id)
    select principal, id, $5, $4::integer - 1, $6::bigint, $7::bytea, $8 from mine where $5::text is not null
    on conflict (principal, id, place) do nothing
  )
  select from mine`

const cancelText = `
  update background_responses b
  set is_cancelled = true, fence = b.fence + 1, lease_owner = null, lease_until = ${lease}
  from responses r
  where b.principal = $1 and b.id = $2 and b.${isOpen} and r.principal = b.principal and r.id = b.id
  returning ${claimColumns}`

/** The first row is the one with event `$3`. */
const pageText = `
  select b.status, e.place, e.last_event, e.version, e.sealed
  from background_responses b
  left join lateral (
    select * from (
      select place, last_event, version, sealed,
             sum(octet_length(sealed)) over (order by place) - octet_length(sealed) as bytes_before
      from background_events
      where principal = $1 and id = $2 and last_event >= $3 and place >= coalesce((
        select max(place) from background_events where principal = $1 and id = $2 and place <= $4), '')
      order by place limit ${maxPageRows}
    ) as few where bytes_before < ${maxPageBytes}
  ) e on true
  where b.principal = $1 and b.id = $2 order by e.place`

interface PageRow extends Pick<EventRow, 'last_event' | 'version' | 'sealed'> {
  readonly status: BackgroundStatus
  /** Null without events. */
  readonly place: string | null
}

type Queryable = Pick<Pool | PoolClient, 'query'>

const insertEvents = (on: Queryable, row: EventRow) =>
  on.query(insertEventsText, [row.principal, row.id, row.place, row.last_event, row.version, row.sealed, row.key_id])

/** Tables `background_responses` and `background_events`, and the rows of these responses in `responses`. */
export type BackgroundStore = ReturnType<typeof backgroundStore>

export function backgroundStore(pool: Pool) {
  const changes = async (text: string, values: readonly unknown[]): Promise<boolean> =>
    ((await pool.query(text, [...values])).rowCount ?? 0) > 0

  return {
    /** Queues a response. Returns false if `maxQueued` responses of its key are queued. */
    create: (row: NewResponse, maxQueued: number): Promise<boolean> =>
      transaction(pool, async client => {
        const { principal, id, apiKeyId, request } = row
        await client.query('select pg_advisory_xact_lock(hashtextextended($1, 7256))', [apiKeyId ?? principal])
        const queued = await client.query<{ count: number }>(
          `select count(*) as count from background_responses
           where status = 'queued' and principal = $1 and api_key_id is not distinct from $2`,
          [principal, apiKeyId],
        )
        if ((queued.rows[0]?.count ?? 0) >= maxQueued) return false
        await client.query(
          `insert into responses (principal, id, deployment, previous_id, is_translated, expires_at)
           values ($1, $2, '', $3, true, clock_timestamp() + ${lifetime})`,
          [principal, id, row.previousId],
        )
        await client.query(
          `insert into background_responses (principal, id, api_key_id, is_stream, next_event, version, sealed, key_id)
           values ($1, $2, $3, $4, $5, $6, $7, $8)`,
          [
            principal,
            id,
            apiKeyId,
            row.isStream,
            row.events.last_event + 1,
            request.version,
            request.sealed,
            request.key_id,
          ],
        )
        await insertEvents(client, row.events)
        hint(client, queuedChannel, '')
        return true
      }),

    /** Claims the response that is due first, except those of the `busy` keys (empty: without a key). */
    async claim(owner: string, busy: readonly string[]): Promise<Claim | undefined> {
      return (await pool.query<Claim>({ name: 'background_claim', text: claimText, values: [owner, busy] })).rows[0]
    },

    /** Extends claims. Returns the ids of those that are still valid. */
    async renew(owner: string, claims: readonly Claimed[]): Promise<string[]> {
      const column = <Name extends keyof Claimed>(name: Name) => claims.map(claim => claim[name])
      const values = [owner, column('principal'), column('id'), column('fence')]
      const { rows } = await pool.query<{ id: string }>({ name: 'background_renew', text: renewText, values })
      return rows.map(({ id }) => id)
    },

    /**
     * Stores that the response is in progress, with its next events. Returns false if the claim is no longer valid. A
     * write whose commit is uncertain may be repeated.
     */
    async append({ principal, id, fence }: Claimed, events: EventRow | undefined, nextEvent: number): Promise<boolean> {
      const sealed = [events?.place ?? null, events?.version ?? null, events?.sealed ?? null, events?.key_id ?? null]
      const values = [principal, id, fence, nextEvent, ...sealed]
      const isMine = (await pool.query({ name: 'background_append', text: appendText, values })).rowCount === 1
      if (isMine) hint(pool, eventsChannel, id)
      return isMine
    },

    /** Ends a response. Returns false if the claim is no longer valid. */
    end: ({ principal, id, fence }: Claimed, end: NewEnd): Promise<boolean> =>
      transaction(pool, async client => {
        const { rowCount } = await client.query(
          `update background_responses
           set status = $4, next_event = $5, sealed = null, key_id = null, lease_owner = null, lease_until = null
           where principal = $1 and id = $2 and fence = $3 and ${isOpen}`,
          [principal, id, fence, end.status, end.nextEvent],
        )
        if (rowCount !== 1) return false
        if (end.events) await insertEvents(client, end.events)
        await client.query(
          `update responses set deployment = $3, is_translated = $4::text is null, upstream_id = $4,
                                expires_at = clock_timestamp() + ${lifetime}
           where principal = $1 and id = $2`,
          [principal, id, end.deployment, end.upstreamId],
        )
        const { version, sealed, key_id } = end.content
        await client.query(
          `insert into response_contents (principal, id, version, sealed, key_id) values ($1, $2, $3, $4, $5)`,
          [principal, id, version, sealed, key_id],
        )
        hint(client, eventsChannel, id)
        return true
      }),

    /** Puts a response back, to run again after `delayMs`. */
    async putBack({ principal, id, fence }: Claimed, delayMs: number): Promise<void> {
      const text = `
        update background_responses
        set lease_owner = null, lease_until = null, starts = starts - 1,
            due_at = clock_timestamp() + $4::float8 * interval '1 millisecond'
        where principal = $1 and id = $2 and fence = $3 and ${isOpen}`
      if ((await changes(text, [principal, id, fence, delayMs])) && delayMs === 0) hint(pool, queuedChannel, '')
    },

    /** Claims a response that has not ended, to end it as cancelled: it no longer runs anywhere. */
    async cancel({ principal, id }: ResponseName): Promise<Claim | undefined> {
      const [claim] = (await pool.query<Claim>(cancelText, [principal, id])).rows
      if (claim) hint(pool, stoppedChannel, id)
      return claim
    },

    /** Marks all responses of these payers that have not ended as cancelled; the next claim ends each. */
    async cancelAll({ principal, keys }: StoppedPayers): Promise<void> {
      const text = `
        update background_responses
        set is_cancelled = true, fence = fence + 1, lease_owner = null, lease_until = null, due_at = clock_timestamp()
        where ${isOpen} and ($1::text is null or principal = $1) and ($2::text[] is null or api_key_id = any ($2))
        returning id`
      const { rows } = await pool.query<{ id: string }>(text, [principal, keys])
      for (const { id } of rows) hint(pool, stoppedChannel, id)
      if (rows.length > 0) hint(pool, queuedChannel, '')
    },

    /** Stops a run whose response was deleted. */
    noteDeleted({ id }: ResponseName): void {
      hint(pool, stoppedChannel, id)
    },

    async find({ principal, id }: ResponseName): Promise<Progress | undefined> {
      const text = 'select status, is_stream, next_event from background_responses where principal = $1 and id = $2'
      return (await pool.query<Progress>(text, [principal, id])).rows[0]
    },

    /** Returns the encrypted request; undefined once the response has ended. */
    async request({ principal, id }: ResponseName): Promise<Omit<RequestRow, 'key_id'> | undefined> {
      const text = `
        select principal, id, version, sealed from background_responses
        where principal = $1 and id = $2 and sealed is not null`
      return (await pool.query<Omit<RequestRow, 'key_id'>>(text, [principal, id])).rows[0]
    },

    /** Returns a page of events from number `from` on; undefined if the response does not exist. */
    async page({ principal, id }: ResponseName, from: number): Promise<EventPage | undefined> {
      const values = [principal, id, from, placeOf(from)]
      const { rows } = await pool.query<PageRow>({ name: 'background_page', text: pageText, values })
      const [first] = rows
      if (!first) return undefined
      const found = rows.flatMap(({ place, last_event, version, sealed }) =>
        place === null ? [] : [{ principal, id, place, last_event, version, sealed }],
      )
      return { status: first.status, rows: found }
    },
  }
}
