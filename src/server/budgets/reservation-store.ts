import type { Pool } from 'pg'
import { gathered } from '../platform/gather.ts'
import type { BudgetLimits, BudgetName, Payers } from './store.ts'

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
export interface BudgetState extends BudgetName, BudgetLimits {
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

/** What limits something. */
const limits = 'num_nonnulls(max_usd, soft_usd, rpm_limit, tpm_limit, max_parallel) > 0'

/**
 * Locks the budgets that limit any of the calls, always in the same order, then reads the clock: whoever comes later sees a
 * later time. Then takes one call after the other, each with what those before it have taken; see `reserve_call` in the
 * migrations.
 */
const reserveText = (clock: string) => `
  with asked as materialized (
    select * from rows from (json_to_recordset($1) as (
      request_id text, key text, owner text, agent text, session text, amount_usd numeric, tokens bigint, is_held boolean,
      facts json)) with ordinality as given (request_id, key, owner, agent, session, amount_usd, tokens, is_held, facts, place)
  ), named as materialized (
    select distinct scope, scope_id
    from asked cross join lateral (values ('key', key), ('owner', owner), ('agent', agent), ('session', session))
      as payer (scope, scope_id)
    where scope_id is not null order by scope, scope_id
  ), locked as materialized (
    -- One look-up by key after the other, however many budgets there are.
    select b.scope from named n cross join lateral (
      select scope from budgets where scope = n.scope and scope_id = n.scope_id and ${limits} for no key update
    ) b
  ), clock as materialized (
    select case when count(*) >= 0 then ${clock} end as at from locked
  )
  select place, verdict.*
  from clock, asked, lateral reserve_call(
    request_id, key, owner, agent, session, amount_usd, tokens, is_held, facts, at, $2 * interval '1 millisecond') as verdict`

const renewText = (clock: string) => `
  update reservations set expires_at = ${clock} + $2 * interval '1 millisecond'
  where request_id in (select request_id from reservations where request_id = any ($1::text[]) for update skip locked)`

const orphansText = (clock: string) => `
  select request_id, amount_usd, facts from reservations where expires_at <= ${clock} order by expires_at limit $1`

/** Bounds how long the calls of one transaction hold its budgets. */
const mostCalls = 100

const refused: Verdict = { is_admitted: false, is_key_valid: true, budgets: [] }

const asJson = ({ payers, isHeld, ...call }: Asked) => ({ ...call, ...payers, is_held: isHeld })

/** Table `reservations`, and the counters of table `budgets` that go up with it. The ledger takes both down again. */
export type ReservationStore = ReturnType<typeof reservationStore>

export function reservationStore(pool: Pool, { lifetimeMs, clock = 'clock_timestamp()' }: Options) {
  const texts = { reserve: reserveText(clock), renew: renewText(clock), orphans: orphansText(clock) }
  const reserveAll = async (calls: readonly Asked[]): Promise<readonly Verdict[]> => {
    const values = [JSON.stringify(calls.map(asJson)), lifetimeMs]
    const query = { name: 'reserve', text: texts.reserve, values }
    const { rows } = await pool.query<Verdict & { readonly place: number }>(query)
    const verdicts = new Map(rows.map(({ place, ...verdict }) => [place, verdict]))
    return calls.map((_, at) => verdicts.get(at + 1) ?? refused)
  }
  return {
    /** Holds a call in all budgets that limit it, or says what stands against it. Calls at a time share a transaction. */
    reserve: gathered(reserveAll, { mostNames: mostCalls }),

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
