import type { Pool } from 'pg'
import { ownerLock } from '../db/notifications.ts'
import { type BatchFormat, type BatchKind, type BatchRow, endingOf } from './batch-store.ts'

/** A line whose call this process makes. */
export interface ClaimedLine {
  readonly batch_id: string
  readonly seq: number
  readonly claim: string
  readonly request: string
  /** Calls that failed before. */
  readonly tries: number
  readonly format: BatchFormat
  readonly kind: BatchKind
  readonly principal: string
  readonly key_id: string | null
  readonly headers: Readonly<Record<string, string>>
}

export type LineType = 'succeeded' | 'errored' | 'canceled' | 'expired'

/** Result of a line. */
export interface LineResult {
  readonly type: LineType
  readonly status: number | null
  readonly request_id: string | null
  /** JSON on one line: the body of the answer, or the error. */
  readonly result: string | null
}

/** A line with its result. */
export interface EndedLine extends LineResult {
  readonly seq: number
  readonly custom_id: string
}

type Named = Pick<ClaimedLine, 'batch_id' | 'seq' | 'claim'>

/** A process renews its claims every 3 s. */
const leaseSeconds = 15
/** Claims of a process that has not renewed them for this time and whose connection is gone end. */
const silentSeconds = 5
const lease = `clock_timestamp() + interval '${leaseSeconds} seconds'`
const maxBatches = 50
const pageRows = 500
const pageBytes = 4 * 1024 * 1024

/**
 * Without the lines that go to the batch API of a provider. A batch gets an equal share of the free places, so that a
 * large one does not delay the others.
 */
const claimText = `
  with open as materialized (
    select id, format, kind, principal, key_id, headers from batches
    where state = 'in_progress' and deleted_at is null and ready_at <= clock_timestamp()
      and expires_at > clock_timestamp()
    order by random() limit ${maxBatches}
  ), picked as materialized (
    select l.batch_id, l.seq from open b cross join lateral (
      select batch_id, seq from batch_lines
      where batch_id = b.id and deployment is null and ready_at <= clock_timestamp()
      order by ready_at, seq limit greatest(1, $3::integer / greatest(1, (select count(*) from open))) for update skip locked
    ) l limit $3
  )
  update batch_lines l set claim = $1, owner = $2, ready_at = ${lease}
  from picked p join open b on b.id = p.batch_id
  where l.batch_id = p.batch_id and l.seq = p.seq
  returning l.batch_id, l.seq, l.claim, l.request, l.tries, b.format, b.kind, b.principal, b.key_id, b.headers`

/** Adds the ended lines of `done` to the counters of their batches, which are locked in one order. */
const countText = `
  counts as (
    select batch_id, count(*)::integer as all_types,
           count(*) filter (where type = 'succeeded')::integer as succeeded,
           count(*) filter (where type = 'errored')::integer as errored,
           count(*) filter (where type = 'canceled')::integer as canceled,
           count(*) filter (where type = 'expired')::integer as expired
    from done group by batch_id
  ), locked as materialized (
    select id from batches where id = any (array(select batch_id from counts)) order by id for update
  ), counted as (
    update batches b
    set succeeded = b.succeeded + c.succeeded, errored = b.errored + c.errored, canceled = b.canceled + c.canceled,
        expired = b.expired + c.expired, waiting_for = null,
        ready_at = case when b.waiting_for is null then b.ready_at else clock_timestamp() end,
        ${endingOf({
          done: '(b.succeeded + b.errored + b.canceled + b.expired + c.all_types)',
          lines: 'b.lines',
          expired: '(b.expired + c.expired)',
        })}
    from counts c join locked k on k.id = c.batch_id where b.id = c.batch_id
  )`

const given = (fields: string) => `
  select * from unnest($1::text[], $2::integer[], $3::uuid[], ${fields}`

const settleText = `
  with given as (${given('$4::text[], $5::integer[], $6::text[], $7::text[]) as g (batch_id, seq, claim, type, status, request_id, result)')}
  ), done as (
    update batch_lines l
    set type = g.type, status = g.status, request_id = g.request_id, result = g.result, request = null,
        ready_at = null, claim = null, owner = null
    from given g
    where l.batch_id = g.batch_id and l.seq = g.seq and l.claim = g.claim and l.ready_at is not null
    returning l.batch_id, l.type
  ), ${countText}
  select count(*)::integer as settled from done`

const releaseText = `
  with given as (${given('$4::float8[], $5::integer[]) as g (batch_id, seq, claim, wait_ms, tries)')}
  )
  update batch_lines l
  set claim = null, owner = null, ready_at = clock_timestamp() + g.wait_ms * interval '1 millisecond',
      tries = l.tries + g.tries
  from given g
  where l.batch_id = g.batch_id and l.seq = g.seq and l.claim = g.claim and l.ready_at is not null`

const renewText = `
  with given as (${given(`$4::boolean[]) as g (batch_id, seq, claim, renewed)`)}
  )
  update batch_lines l set ready_at = ${lease} from given g
  where l.batch_id = g.batch_id and l.seq = g.seq and l.claim = g.claim and l.ready_at is not null`

/** Lines in flight keep running, unless their claim has ended. */
const closeText = `
  with open as materialized (
    select batch_id, seq from batch_lines
    where batch_id = $1 and ready_at is not null and (claim is null or ready_at <= clock_timestamp())
    limit 1000 for update skip locked
  ), done as (
    update batch_lines l
    set type = $2, result = $3, request = null, ready_at = null, claim = null, owner = null
    from open o where l.batch_id = o.batch_id and l.seq = o.seq
    returning l.batch_id, l.type
  ), ${countText}
  select count(*)::integer as closed from done`

/** Table `batch_lines`, and the counters of `batches`. */
export type LineStore = ReturnType<typeof lineStore>

export function lineStore(pool: Pool) {
  const named = (lines: readonly Named[]) => [
    lines.map(({ batch_id }) => batch_id),
    lines.map(({ seq }) => seq),
    lines.map(({ claim }) => claim),
  ]

  return {
    /** Claims up to `limit` lines for 15 s, from all batches alike. */
    async claim(by: {
      readonly claim: string
      readonly owner: string
      readonly limit: number
    }): Promise<ClaimedLine[]> {
      const values = [by.claim, by.owner, by.limit]
      return (await pool.query<ClaimedLine>({ name: 'claim_lines', text: claimText, values })).rows
    },

    /** Extends claims by 15 s. */
    async renew(lines: readonly Named[]): Promise<void> {
      await pool.query(renewText, [...named(lines), lines.map(() => true)])
    },

    /** Stores results, except of lines that another process has claimed. Counts them, and ends batches without open lines. */
    async settle(lines: readonly (Named & LineResult)[]): Promise<void> {
      const values = [
        ...named(lines),
        lines.map(({ type }) => type),
        lines.map(({ status }) => status),
        lines.map(({ request_id }) => request_id),
        lines.map(({ result }) => result),
      ]
      await pool.query({ name: 'settle_lines', text: settleText, values })
    },

    /** Releases lines for another call after a wait. */
    async release(lines: readonly (Named & { readonly waitMs: number; readonly isTry: boolean })[]): Promise<void> {
      const values = [...named(lines), lines.map(({ waitMs }) => waitMs), lines.map(({ isTry }) => (isTry ? 1 : 0))]
      await pool.query({ name: 'release_lines', text: releaseText, values })
    },

    /** Ends up to 1,000 open lines of a batch without a call. Returns their number. */
    async close(batchId: string, { type, result }: Pick<LineResult, 'type' | 'result'>): Promise<number> {
      const { rows } = await pool.query<{ closed: number }>(closeText, [batchId, type, result])
      return rows[0]?.closed ?? 0
    },

    /** Ends the claims of exited processes. Returns the number of lines that may be claimed again. */
    async releaseDead(owner: string): Promise<number> {
      const owners = `
        select distinct owner from batch_lines where owner is not null and owner <> $1
        union select owner from batches where owner is not null and owner <> $1`
      let released = 0
      for (const { owner: other } of (await pool.query<{ owner: string }>(owners, [owner])).rows)
        released += await releaseOwner(pool, other)
      return released
    },

    /** Returns ended lines after `after`, in order: at most 500, and about 4 MB of results. */
    async page(batch: Pick<BatchRow, 'id'>, { after, isSuccess }: LinesPage): Promise<EndedLine[]> {
      const text = `
        select seq, custom_id, type, status, request_id, result from (
          select *, sum(octet_length(result)) over (order by seq) - octet_length(result) as bytes_before
          from (
            select * from batch_lines
            where batch_id = $1 and seq > $2 and type is not null and ($3::boolean is null or (type = 'succeeded') = $3)
            order by seq limit ${pageRows}
          ) as rows
        ) as counted
        where coalesce(bytes_before, 0) < ${pageBytes} order by seq`
      return (await pool.query<EndedLine>(text, [batch.id, after, isSuccess ?? null])).rows
    },
  }
}

interface LinesPage {
  readonly after: number
  /** Undefined: all lines; else those that succeeded, or the others. */
  readonly isSuccess?: boolean
}

async function releaseOwner(pool: Pool, owner: string): Promise<number> {
  const silent = `ready_at <= ${lease} - interval '${silentSeconds} seconds'`
  const isGone = `owner = $1 and ready_at is not null and ${silent} and pg_try_advisory_xact_lock(${ownerLock})`
  const ended = `set ready_at = clock_timestamp(), claim = null, owner = null where ${isGone}`
  const { rowCount } = await pool.query(`update batch_lines ${ended}`, [owner])
  await pool.query(`update batches ${ended}`, [owner])
  return rowCount ?? 0
}
