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

/** `told_at` of the function is the time for tests; null is the database clock, read once the budgets are locked. */
const reserveText = (toldAt: string) => `
  select * from reserve_calls($1, $2, ${toldAt}, $3 * interval '1 millisecond')`

const renewText = (clock: string) => `
  update reservations set expires_at = ${clock} + $2 * interval '1 millisecond'
  where request_id in (select request_id from reservations where request_id = any ($1::text[]) for update skip locked)`

const orphansText = (clock: string) => `
  select request_id, amount_usd, facts from reservations where expires_at <= ${clock} order by expires_at limit $1`

/** Bounds how long the calls of one transaction hold its budgets. */
const mostCalls = 100

const refused: Verdict = { is_admitted: false, is_key_valid: true, budgets: [] }

/** The payers of calls, each once, and the calls, whose `party` is the place of their payers, counted from 1. */
function asJson(calls: readonly Asked[]) {
  const parties = new Map<string, { readonly party: number; readonly payers: Payers }>()
  const asked = calls.map(({ payers, isHeld, ...call }) => {
    const name = JSON.stringify([payers.key, payers.owner, payers.agent, payers.session])
    const known = parties.get(name) ?? { party: parties.size + 1, payers }
    parties.set(name, known)
    return { ...call, party: known.party, is_held: isHeld }
  })
  return [JSON.stringify([...parties.values()].map(({ payers }) => payers)), JSON.stringify(asked)]
}

/** Table `reservations`, and the counters of table `budgets` that go up with it. The ledger takes both down again. */
export type ReservationStore = ReturnType<typeof reservationStore>

export function reservationStore(pool: Pool, { lifetimeMs, clock }: Options) {
  const now = clock ?? 'clock_timestamp()'
  const texts = { reserve: reserveText(clock ?? 'null'), renew: renewText(now), orphans: orphansText(now) }
  const reserveAll = async (calls: readonly Asked[]): Promise<readonly Verdict[]> => {
    const query = { name: 'reserve', text: texts.reserve, values: [...asJson(calls), lifetimeMs] }
    const { rows } = await pool.query<Verdict & { readonly places: readonly number[] }>(query)
    const verdicts = new Map(rows.flatMap(({ places, ...verdict }) => places.map(place => [place, verdict])))
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
