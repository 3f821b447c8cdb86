import type { Pool } from 'pg'
import { gathered } from '../platform/gather.ts'
import type { BudgetLimits, BudgetName, Payers } from './store.ts'

/** Amounts to reserve for a call. */
export interface ReserveCall {
  readonly request_id: string
  readonly payers: Payers
  /** Maximum cost in US dollars as an exact decimal; null if unknown. */
  readonly amount_usd: string | null
  /** Maximum number of input and output tokens; null if unknown. */
  readonly tokens: number | null
  /** False for calls that end at once, such as token counts: they only count as a request. */
  readonly isReserved: boolean
  /** Row of `usage`, as JSON, to book if the call is never settled. */
  readonly facts: object
}

/** State of a budget right before a reservation. Amounts are exact decimals. */
export interface BudgetState extends BudgetName, BudgetLimits {
  readonly spent_usd: string
  readonly reserved_usd: string
  readonly parallel: number
  readonly requests: number
  readonly tokens: number
  /** ISO time; null: never. */
  readonly reset_at: string | null
  /** Seconds until the next minute begins. */
  readonly window_rest_s: number
  /** True once the soft limit is reached. */
  readonly is_warned: boolean
  readonly has_requests: boolean
  readonly has_tokens: boolean
  readonly has_slot: boolean
  readonly has_money: boolean
}

/** Result of a reservation. */
export interface Verdict {
  /** True if the call was reserved in every budget that limits it; otherwise it is reserved in none. */
  readonly is_admitted: boolean
  /** False if the key was revoked, has expired or was deleted. */
  readonly is_key_valid: boolean
  /** Budgets that limit the call, in their state before the reservation. */
  readonly budgets: readonly BudgetState[]
}

/** A reservation that expired without renewal. */
export interface Orphan {
  readonly request_id: string
  readonly amount_usd: string
  readonly facts: Readonly<Record<string, unknown>>
}

interface Options {
  /** Time until a reservation expires without renewal. */
  readonly lifetimeMs: number
  /** SQL that reads the time; the database clock by default. */
  readonly clock?: string
}

/**
 * The third argument is the time for tests; null makes the function read the database clock after it locks the budgets.
 */
const reserveText = (clockArgument: string) => `
  select * from reserve_calls($1, $2, ${clockArgument}, $3 * interval '1 millisecond')`

const renewText = (clock: string) => `
  update reservations set expires_at = ${clock} + $2 * interval '1 millisecond'
  where request_id in (select request_id from reservations where request_id = any ($1::text[]) for update skip locked)`

const orphansText = (clock: string) => `
  select request_id, amount_usd, facts from reservations where expires_at <= ${clock} order by expires_at limit $1`

/** Bounds how long one transaction locks budgets. */
const maxCalls = 100

const rejected: Verdict = { is_admitted: false, is_key_valid: true, budgets: [] }

/** Returns the distinct payers, and the calls with `party` as the 1-based index of their payers, both as JSON. */
function asJson(calls: readonly ReserveCall[]) {
  const parties = new Map<string, { readonly party: number; readonly payers: Payers }>()
  const entries = calls.map(({ payers, isReserved, ...call }) => {
    const name = JSON.stringify([payers.key, payers.owner, payers.agent, payers.session])
    const known = parties.get(name) ?? { party: parties.size + 1, payers }
    parties.set(name, known)
    return { ...call, party: known.party, is_held: isReserved }
  })
  return [JSON.stringify([...parties.values()].map(({ payers }) => payers)), JSON.stringify(entries)]
}

/**
 * Table `reservations` and the reservation counters of table `budgets`. The ledger decreases both when it settles
 * calls.
 */
export type ReservationStore = ReturnType<typeof reservationStore>

export function reservationStore(pool: Pool, { lifetimeMs, clock }: Options) {
  const now = clock ?? 'clock_timestamp()'
  const texts = { reserve: reserveText(clock ?? 'null'), renew: renewText(now), orphans: orphansText(now) }
  const reserveOn = async (on: Pick<Pool, 'query'>, calls: readonly ReserveCall[]): Promise<readonly Verdict[]> => {
    const query = { name: 'reserve', text: texts.reserve, values: [...asJson(calls), lifetimeMs] }
    const { rows } = await on.query<Verdict & { readonly places: readonly number[] }>(query)
    const verdicts = new Map(rows.flatMap(({ places, ...verdict }) => places.map(place => [place, verdict])))
    return calls.map((_, at) => verdicts.get(at + 1) ?? rejected)
  }
  const reserveAll = (calls: readonly ReserveCall[]) => reserveOn(pool, calls)
  return {
    /** Reserves a call in all budgets that limit it, or returns why not. Concurrent calls share a transaction. */
    reserve: gathered(reserveAll, { maxNames: maxCalls }),

    /** Returns what `reserve` would return, and reserves nothing. */
    async wouldReserve(call: ReserveCall): Promise<Verdict> {
      const client = await pool.connect()
      let isClean = false
      try {
        await client.query('begin')
        const [verdict = rejected] = await reserveOn(client, [call])
        await client.query('rollback')
        isClean = true
        return verdict
      } finally {
        // A connection in an unknown state is closed, so that its locks are released.
        client.release(!isClean)
      }
    },

    /** Extends reservations. Skips those that are locked because they are being settled. */
    async renew(requestIds: readonly string[]): Promise<void> {
      await pool.query({ name: 'renew_reservations', text: texts.renew, values: [requestIds, lifetimeMs] })
    },

    /** Extends reservations to a time. */
    async extend(requestIds: readonly string[], until: Date): Promise<void> {
      await pool.query('update reservations set expires_at = $2 where request_id = any ($1::text[])', [
        requestIds,
        until,
      ])
    },

    /** Returns expired reservations, oldest first. */
    async orphans(limit: number): Promise<Orphan[]> {
      return (await pool.query<Orphan>({ name: 'orphans', text: texts.orphans, values: [limit] })).rows
    },
  }
}
