import type { Pool } from 'pg'
import type { BudgetName, Payers } from './store.ts'

/** What is to be held for a call. */
export interface Asked {
  readonly request_id: string
  readonly payers: Payers
  /** US dollars that it may cost at most, as an exact decimal; null: nobody can tell. */
  readonly amount_usd: string | null
  /** Tokens of input and output at most; null: nobody can tell. */
  readonly tokens: number | null
  /** False for what is over at once, such as a count of tokens: it only counts as a request. */
  readonly isHeld: boolean
  /** What the ledger says should nobody ever settle it: a row of `usage` as JSON. */
  readonly facts: object
}

/** A budget as it stood when a call asked to be held in it. Amounts are exact decimals. */
export interface BudgetState extends BudgetName {
  readonly max_usd: string | null
  readonly soft_usd: string | null
  readonly duration: string | null
  readonly rpm_limit: number | null
  readonly tpm_limit: number | null
  readonly max_parallel: number | null
  readonly spent_usd: string
  readonly reserved_usd: string
  readonly parallel: number
  readonly requests: number
  readonly tokens: number
  /** ISO time; null: never. */
  readonly reset_at: string | null
  /** Until the next minute begins. */
  readonly window_rest_s: number
  /** The soft limit is reached. */
  readonly is_warned: boolean
  readonly has_requests: boolean
  readonly has_tokens: boolean
  readonly has_slot: boolean
  readonly has_money: boolean
}

/** The answer to a call that asked to be held. */
export interface Verdict {
  /** True: it was held in every budget that limits it. Else in none. */
  readonly is_admitted: boolean
  /** False: the key was revoked, has expired, or is gone. */
  readonly is_key_valid: boolean
  /** Those that limit it, before it was held. */
  readonly budgets: readonly BudgetState[]
}

/** What is held for a call that nobody has renewed in time. */
export interface Orphan {
  readonly request_id: string
  readonly amount_usd: string
  readonly facts: Readonly<Record<string, unknown>>
}

interface Options {
  /** How long a reservation lives without a renewal. */
  readonly lifetimeMs: number
  /** SQL that reads the time; the database clock by default. */
  readonly clock?: string
}

/**
 * Locks the budgets that limit a call, always in the same order, then reads the clock: whoever comes later sees a later
 * time. Checks and takes everything in all of them, or nothing.
 */
const reserveText = (clock: string) => `
  with locked as materialized (
    select * from budgets
    where ((scope = 'key' and scope_id = $2) or (scope = 'owner' and scope_id = $3)
        or (scope = 'agent' and scope_id = $4) or (scope = 'session' and scope_id = $5))
      and num_nonnulls(max_usd, soft_usd, rpm_limit, tpm_limit, max_parallel) > 0
    order by scope, scope_id for no key update
  ), clock as materialized (
    select case when count(*) >= 0 then ${clock} end as at from locked
  ), current as materialized (
    select scope, scope_id, max_usd, soft_usd, duration, rpm_limit, tpm_limit, max_parallel, reserved_usd, parallel, at,
           case when reset_at <= at then 0 else spent_usd end as spent_usd,
           case when reset_at <= at then null else warned_at end as warned_at,
           case when reset_at <= at then at else period_started_at end as period_started_at,
           case when reset_at <= at then budget_period_end(anchored_at, duration, at) else reset_at end as reset_at,
           date_trunc('minute', at) as minute,
           case when window_started_at = date_trunc('minute', at) then window_requests else 0 end as requests,
           case when window_started_at = date_trunc('minute', at) then window_tokens else 0 end as tokens
    from locked, clock
  ), checked as materialized (
    select *,
           rpm_limit is null or requests < rpm_limit as has_requests,
           tpm_limit is null or $8 = 0 or coalesce(tokens + $7::bigint <= tpm_limit, false) as has_tokens,
           max_parallel is null or $8 = 0 or parallel < max_parallel as has_slot,
           max_usd is null or $8 = 0 or coalesce($6::numeric = 0 or spent_usd + reserved_usd + $6::numeric <= max_usd, false)
             as has_money
    from current
  ), verdict as materialized (
    select coalesce(bool_and(has_requests and has_tokens and has_slot and has_money), true) as fits,
           $2::text is null or exists (
             select from api_keys k, clock
             where k.id = $2 and k.revoked_at is null and (k.expires_at is null or k.expires_at > clock.at)) as is_key_valid
    from checked
  ), taken as (
    update budgets b
    set spent_usd = c.spent_usd, warned_at = c.warned_at, reset_at = c.reset_at, period_started_at = c.period_started_at,
        reserved_usd = b.reserved_usd + coalesce($6::numeric, 0), parallel = b.parallel + $8::integer,
        window_started_at = c.minute, window_requests = c.requests + 1, window_tokens = c.tokens + coalesce($7::bigint, 0)
    from checked c, verdict v
    where v.fits and v.is_key_valid and b.scope = c.scope and b.scope_id = c.scope_id
    returning b.id, b.scope, b.scope_id, c.minute, c.at
  ), held as (
    insert into reservations (request_id, held_in, amount_usd, tokens, facts, expires_at)
    select $1, json_agg(json_build_object('id', id, 'scope', scope, 'scope_id', scope_id, 'minute', minute)),
           coalesce($6::numeric, 0), coalesce($7::bigint, 0), $9::json, at + $10 * interval '1 millisecond'
    from taken where $8 = 1 group by at
  )
  select v.fits and v.is_key_valid as is_admitted, v.is_key_valid, coalesce((
    select json_agg(json_build_object(
      'scope', scope, 'scope_id', scope_id, 'max_usd', max_usd::text, 'soft_usd', soft_usd::text, 'duration', duration,
      'rpm_limit', rpm_limit, 'tpm_limit', tpm_limit, 'max_parallel', max_parallel, 'spent_usd', spent_usd::text,
      'reserved_usd', reserved_usd::text, 'parallel', parallel, 'requests', requests, 'tokens', tokens,
      'reset_at', reset_at, 'window_rest_s', ceil(extract(epoch from minute + interval '1 minute' - at)),
      'is_warned', coalesce(spent_usd >= soft_usd, false), 'has_requests', has_requests, 'has_tokens', has_tokens, 'has_slot', has_slot, 'has_money', has_money
    ) order by scope, scope_id) from checked), '[]') as budgets
  from verdict v`

const renewText = (clock: string) => `
  update reservations set expires_at = ${clock} + $2 * interval '1 millisecond'
  where request_id in (select request_id from reservations where request_id = any ($1::text[]) for update skip locked)`

const orphansText = (clock: string) => `
  select request_id, amount_usd, facts from reservations where expires_at <= ${clock} order by expires_at limit $1`

/** Table `reservations`, and the counters of table `budgets` that go up with it. The ledger takes both down again. */
export type ReservationStore = ReturnType<typeof reservationStore>

export function reservationStore(pool: Pool, { lifetimeMs, clock = 'clock_timestamp()' }: Options) {
  const texts = { reserve: reserveText(clock), renew: renewText(clock), orphans: orphansText(clock) }
  return {
    /** Holds a call in all budgets that limit it, or says what stands against it. */
    async reserve({ request_id, payers, amount_usd, tokens, isHeld, facts }: Asked): Promise<Verdict> {
      const { key, owner, agent, session } = payers
      const held = [amount_usd, tokens, isHeld ? 1 : 0, JSON.stringify(facts), lifetimeMs]
      const values = [request_id, key, owner, agent, session, ...held]
      const { rows } = await pool.query<Verdict>({ name: 'reserve', text: texts.reserve, values })
      return rows[0] ?? { is_admitted: false, is_key_valid: true, budgets: [] }
    },

    /** Lets reservations live on. Those that are being settled are left alone. */
    async renew(requestIds: readonly string[]): Promise<void> {
      await pool.query({ name: 'renew_reservations', text: texts.renew, values: [requestIds, lifetimeMs] })
    },

    /** Those that have expired, oldest first. */
    async orphans(limit: number): Promise<Orphan[]> {
      return (await pool.query<Orphan>({ name: 'orphans', text: texts.orphans, values: [limit] })).rows
    },
  }
}
