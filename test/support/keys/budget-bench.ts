import { randomUUID } from 'node:crypto'
import { type ReserveCall, reservationStore, type Verdict } from '../../../src/server/budgets/reservation-store.ts'
import {
  type BudgetLimits,
  type BudgetName,
  type BudgetRow,
  budgetStore,
  type Payers,
} from '../../../src/server/budgets/store.ts'
import type { UsageRow } from '../../../src/server/usage/rows.ts'
import { type EndedCalls, usageStore } from '../../../src/server/usage/store.ts'
import { freshDatabase } from '../service/database.ts'

/** No limit at all. */
export const limits: BudgetLimits = {
  max_usd: null,
  soft_usd: null,
  duration: null,
  rpm_limit: null,
  tpm_limit: null,
  max_parallel: null,
}

export type SomePayers = Partial<Payers>

const allPayers = (payers: SomePayers): Payers => ({
  key: undefined,
  owner: undefined,
  agent: undefined,
  session: undefined,
  ...payers,
})

/** A row of the ledger for a call that has ended, and had its own reservation by default. */
export const rowOf = (
  request_id: string,
  payers: SomePayers,
  cost_usd: string | null,
  more: Partial<UsageRow> = {},
): UsageRow => ({
  id: `use_${randomUUID()}`,
  request_id,
  principal: 'p',
  key_id: payers.key ?? null,
  owner_id: payers.owner ?? null,
  agent_id: payers.agent ?? null,
  session_id: payers.session ?? null,
  alias: 'm',
  deployment: 'm.1',
  provider: 'anthropic',
  upstream_model: 'm',
  lane: 'raw',
  outcome: 'completed',
  status: 200,
  attempts: 1,
  input_tokens: 0,
  cache_read_tokens: 0,
  cache_write_5m_tokens: 0,
  cache_write_1h_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
  web_searches: 0,
  estimated: false,
  cost_usd,
  held_usd: '0.01',
  rates: null,
  total_ms: 1,
  ...more,
})

/** The stores of budgets, reservations and the ledger over their own database, whose clock the test sets. */
export async function budgetBench({ lifetimeMs = 900_000 } = {}) {
  const { pool, url } = await freshDatabase()
  await pool.query(`create table test_clock as select timestamptz '2026-01-01T00:00:00Z' as at`)
  const clock = '(select at from test_clock)'
  const budgets = budgetStore(pool, { clock })
  const reservations = reservationStore(pool, { lifetimeMs, clock })
  const ledger = usageStore(pool, { clock })
  const usage = {
    ...ledger,
    settle: (ended: Partial<EndedCalls>) =>
      ledger.settle({ id: `batch_${randomUUID()}`, rows: [], released: [], shares: [], ...ended }),
  }
  const one = async (text: string, values: readonly unknown[] = []): Promise<number> =>
    Number((await pool.query<{ n: string }>(text, [...values])).rows[0]?.n)

  return {
    pool,
    url,
    budgets,
    reservations,
    usage,
    /** Sets the clock. */
    at: async (time: string): Promise<void> => {
      await pool.query('update test_clock set at = $1', [time])
    },
    /** Adds a virtual key without a secret. */
    key: async (
      id: string,
      columns: {
        readonly revoked_at?: string
        readonly expires_at?: string
        readonly ancestors?: readonly string[]
      } = {},
    ): Promise<void> => {
      const text = `
        insert into api_keys (id, label, role, models, metadata, prefix, last4, created_by, revoked_at, expires_at, ancestors)
        values ($1, '', 'user', '[]', '{}', '', '', 'master', $2, $3, $4)`
      await pool.query(text, [id, columns.revoked_at, columns.expires_at, columns.ancestors ?? []])
    },
    set: (scope: BudgetName['scope'], scope_id: string, given: Partial<BudgetLimits>): Promise<void> =>
      budgets.setLimits(pool, { scope, scope_id }, { ...limits, ...given }),
    /** Reserves a call, of one cent and ten tokens by default. */
    reserve: ({
      payers = {},
      ...asked
    }: Partial<Omit<ReserveCall, 'payers'>> & { readonly payers?: SomePayers }): Promise<Verdict> =>
      reservations.reserve({
        request_id: `req_${randomUUID()}`,
        amount_usd: '0.01',
        tokens: 10,
        isReserved: true,
        facts: {},
        ...asked,
        payers: allPayers(payers),
      }),
    budget: async (scope: BudgetName['scope'], scope_id: string): Promise<BudgetRow> => {
      const found = await budgets.find({ scope, scope_id })
      if (!found) throw new Error(`there is no budget of ${scope} ${scope_id}`)
      return found
    },
    count: (table: 'reservations' | 'usage'): Promise<number> => one(`select count(*) as n from ${table}`),
    /** US dollars of all reservations in a budget. */
    reservedIn: (scope: string, scope_id: string): Promise<number> =>
      one(
        `select coalesce(sum(amount_usd), 0) as n
         from reservations cross join lateral json_to_recordset(held_in) as h (scope text, scope_id text)
         where h.scope = $1 and h.scope_id = $2`,
        [scope, scope_id],
      ),
    /** US dollars in the ledger of an owner's calls from one time to another. */
    booked: (owner: string, from: string, to: string): Promise<number> =>
      one(
        'select coalesce(sum(cost_usd), 0) as n from usage where owner_id = $1 and created_at >= $2 and created_at < $3',
        [owner, from, to],
      ),
  }
}
