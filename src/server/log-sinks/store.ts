import type { Pool } from 'pg'
import { transaction } from '../db/connect.ts'
import type { SinkStream } from './sink.ts'

/** Row of the ledger with the names of the API. */
export interface CallRow {
  readonly id: string
  readonly place: string
  readonly created_at: Date
  /** True if the call was sent as lost before. */
  readonly is_final: boolean
  readonly outcome: string
  readonly cached: boolean | null
  readonly first_content_ms: number | null
  readonly total_ms: number
  readonly [column: string]: unknown
}

/** Encrypted bodies of a call. */
export interface BodiesRow {
  readonly id: string
  readonly place: string
  readonly created_at: Date
  readonly request_id: string
  readonly principal: string
  readonly api_key_id: string | null
  readonly owner_id: string | null
  readonly model: string
  readonly version: number
  readonly sealed: Buffer
}

/** A stream of a sink that this process sends. */
export interface Claim {
  readonly name: string
  readonly stream: SinkStream
  /** Identifies the claim; only its holder may settle. */
  readonly token: string
}

/** A sent row. */
export interface SentRow {
  readonly id: string
  /** Time with the precision of the database. */
  readonly place: string
  readonly is_lost: boolean
}

interface StatedSink {
  readonly name: string
  readonly bodiesUntilMs: number | undefined
}

/** State of a stream of a sink. */
export interface StreamState {
  readonly name: string
  readonly stream: SinkStream
  /** Rows that are waiting, counted up to a limit. */
  readonly waiting: number
  /** Age of the oldest of them; null without one. */
  readonly lag_ms: number | null
  readonly last_sent_at: Date | null
  readonly sent: number
  readonly attempts: number
  readonly failing_since: Date | null
  readonly next_attempt_at: Date | null
  readonly last_error: string | null
}

/** Longer than a settle and a send together. */
const claimSeconds = 30
/** Longer than any transaction that writes the rows: its statements end after 30 s. */
const overlap = `interval '2 minutes'`
/** How long a call that was sent as lost may still end. */
const lostPeriod = `interval '1 day'`
const maxCounted = 10_000

const callColumns = `
  u.id, u.request_id, u.principal, u.key_id, u.owner_id, u.agent_id, u.session_id, u.prompt_id, u.run_id, u.batch_id,
  u.client_session_id, u.client_agent_id, u.client_parent_id, u.alias as model, u.deployment, u.provider,
  u.upstream_model, u.protocol, u.lane, u.outcome, u.stop_reason, u.status, u.attempts, u.input_tokens,
  u.cache_read_tokens, u.cache_write_5m_tokens, u.cache_write_1h_tokens, u.output_tokens, u.reasoning_tokens,
  u.web_searches, u.units, u.estimated, trim_scale(u.cost_usd)::text as cost_usd,
  trim_scale(u.held_usd)::text as held_usd, u.rates, u.price_source, u.cached, u.degraded, u.first_content_ms,
  u.total_ms, u.created_at, u.created_at::text as place`

const bodiesColumns = `
  b.request_id as id, b.request_id, b.principal, b.api_key_id, b.owner_id, b.model, b.version::float8 as version,
  b.sealed, b.created_at, b.created_at::text as place`

/** SQL that is true for a row that is not sent and not older than the sink `s`. */
const isUnsent = (id: string, time: string): string => `
  ${time} >= greatest(s.started_at, s.position - ${overlap})
  and not exists (select from log_sink_sent t where t.name = s.name and t.stream = s.stream and t.id = ${id})`

const ofStream = `s.name = $1 and s.stream = $2`

/** Calls that were sent as lost and have ended since come first. */
const callsText = `
  (select ${callColumns}, true as is_final
   from log_sink_sent t join usage u on u.id = t.id
   where t.name = $1 and t.stream = $2 and t.is_lost and u.outcome <> 'lost' limit $3)
  union all
  (select ${callColumns}, false
   from log_sinks s join usage u on ${isUnsent('u.id', 'u.created_at')}
   where ${ofStream} order by u.created_at, u.id limit $3)`

const bodiesText = `
  select ${bodiesColumns}
  from log_sinks s join call_bodies b on ${isUnsent('b.request_id', 'b.created_at')}
  where ${ofStream} and b.created_at < $4 order by b.created_at, b.request_id limit $3`

const waitingIn: Readonly<Record<SinkStream, string>> = {
  calls: `select u.created_at from usage u where ${isUnsent('u.id', 'u.created_at')}`,
  bodies: `
    select b.created_at from call_bodies b
    where ${isUnsent('b.request_id', 'b.created_at')} and b.created_at < given.bodies_until`,
}

const stateText = (stream: SinkStream): string => `
  select s.name, s.stream, w.waiting, w.lag_ms, s.last_sent_at, s.sent, s.attempts, s.failing_since,
         case when s.attempts > 0 then s.next_attempt_at end as next_attempt_at, s.last_error
  from json_to_recordset($1) as given (name text, bodies_until timestamptz)
  join log_sinks s on s.name = given.name and s.stream = '${stream}'
  cross join lateral (
    select count(*) as waiting, extract(epoch from clock_timestamp() - min(created_at))::float8 * 1000 as lag_ms
    from (${waitingIn[stream]} order by 1 limit ${maxCounted}) as rows
  ) w
  ${stream === 'bodies' ? 'where given.bodies_until is not null' : ''} order by s.name`

/** Tables `log_sinks` and `log_sink_sent`. Reads `usage` and `call_bodies`. */
export type LogSinkStore = ReturnType<typeof logSinkStore>

export function logSinkStore(pool: Pool) {
  const changes = async (text: string, values: readonly unknown[]): Promise<boolean> =>
    ((await pool.query(text, [...values])).rowCount ?? 0) > 0

  return {
    /** Starts the stream at this time unless it was started before. */
    async add({ name, stream }: Pick<Claim, 'name' | 'stream'>): Promise<void> {
      await pool.query('insert into log_sinks (name, stream) values ($1, $2) on conflict do nothing', [name, stream])
    },

    /** Claims the stream for 30 s; false if another process sends it or the next attempt is not due. */
    claim: ({ name, stream, token }: Claim): Promise<boolean> =>
      changes(
        `update log_sinks s set claim = $3, claimed_until = clock_timestamp() + interval '${claimSeconds} seconds'
         where ${ofStream} and (claim is null or claimed_until < clock_timestamp())
           and next_attempt_at <= clock_timestamp()`,
        [name, stream, token],
      ),

    /** Extends the claim; false if another process has it. */
    renew: ({ name, stream, token }: Claim): Promise<boolean> =>
      changes(
        `update log_sinks s set claimed_until = clock_timestamp() + interval '${claimSeconds} seconds'
         where ${ofStream} and claim = $3`,
        [name, stream, token],
      ),

    async release({ name, stream, token }: Claim): Promise<void> {
      const text = `update log_sinks s set claim = null, claimed_until = null where ${ofStream} and claim = $3`
      await pool.query(text, [name, stream, token])
    },

    /** Returns calls to send, oldest first. */
    async calls({ name, stream }: Claim, limit: number): Promise<CallRow[]> {
      return (await pool.query<CallRow>(callsText, [name, stream, limit])).rows.slice(0, limit)
    },

    /** Returns bodies to send that were recorded before `until`, oldest first. */
    async bodies({ name, stream }: Claim, limit: number, until: Date): Promise<BodiesRow[]> {
      return (await pool.query<BodiesRow>(bodiesText, [name, stream, limit, until])).rows
    },

    /** Stores that rows were sent, and extends the claim. Returns false if another process has it. */
    settle: ({ name, stream, token }: Claim, rows: readonly SentRow[]): Promise<boolean> =>
      transaction(pool, async client => {
        const moved = await client.query(
          `update log_sinks s
           set position = greatest(position, (select max(place::timestamptz) from unnest($4::text[]) as place)),
               attempts = 0, failing_since = null, last_error = null, last_sent_at = clock_timestamp(),
               sent = sent + $5, claimed_until = clock_timestamp() + interval '${claimSeconds} seconds'
           where ${ofStream} and claim = $3`,
          [name, stream, token, rows.map(({ place }) => place), rows.length],
        )
        if (moved.rowCount !== 1) return false
        await client.query(
          `insert into log_sink_sent (name, stream, id, created_at, is_lost)
           select $1, $2, given.id, given.place::timestamptz, given.is_lost
           from json_to_recordset($3) as given (id text, place text, is_lost boolean)
           on conflict (name, stream, id) do update set is_lost = excluded.is_lost`,
          [name, stream, JSON.stringify(rows)],
        )
        await client.query(
          `delete from log_sink_sent t using log_sinks s
           where ${ofStream} and t.name = $1 and t.stream = $2 and t.created_at < s.position - ${overlap}
             and (not t.is_lost or t.created_at < s.position - ${lostPeriod})`,
          [name, stream],
        )
        return true
      }),

    /** Stores a failed attempt, and releases the claim until the next attempt. */
    async fail({ name, stream, token }: Claim, error: string, delaysMs: (attempts: number) => number): Promise<void> {
      await transaction(pool, async client => {
        const { rows } = await client.query<{ attempts: number }>(
          `update log_sinks s set attempts = attempts + 1, failing_since = coalesce(failing_since, clock_timestamp()),
                                  last_error = $4, claim = null, claimed_until = null
           where ${ofStream} and claim = $3 returning attempts`,
          [name, stream, token, error],
        )
        if (rows[0] === undefined) return
        await client.query(
          `update log_sinks s set next_attempt_at = clock_timestamp() + $3::float8 * interval '1 millisecond'
           where ${ofStream}`,
          [name, stream, delaysMs(rows[0].attempts)],
        )
      })
    },

    /** Returns the state of all streams of these sinks. */
    async states(sinks: readonly StatedSink[]): Promise<StreamState[]> {
      const given = JSON.stringify(
        sinks.map(({ name, bodiesUntilMs: until }) => ({
          name,
          bodies_until: until === undefined ? null : new Date(until).toISOString(),
        })),
      )
      const calls = await pool.query<StreamState>(stateText('calls'), [given])
      const bodies = await pool.query<StreamState>(stateText('bodies'), [given])
      return [...calls.rows, ...bodies.rows]
    },
  }
}
