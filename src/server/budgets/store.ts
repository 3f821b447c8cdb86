import type { Pool } from 'pg'
import { hint } from '../db/hints.ts'

/** What a budget belongs to. */
export interface BudgetName {
  readonly scope: 'key' | 'owner' | 'agent' | 'session' | 'team'
  readonly scope_id: string
}

/**
 * Key, owner, agent and session that a call counts for; undefined where the call has none. The database adds the team of
 * the key.
 */
export type Payers = Readonly<Record<Exclude<BudgetName['scope'], 'team'>, string | undefined>>

/** Limits of a budget; null means no limit. Amounts are US dollars as exact decimals. */
export interface BudgetLimits {
  readonly max_usd: string | null
  /** Spend from which callers get a warning. */
  readonly soft_usd: string | null
  /** A number and `h`, `d`, `w` or `mo`; null if the budget is never reset. */
  readonly duration: string | null
  readonly rpm_limit: number | null
  readonly tpm_limit: number | null
  readonly max_parallel: number | null
}

/** State of a budget. An ended period counts as reset even before the first write of the next period. */
export interface BudgetRow extends BudgetName, BudgetLimits {
  /** Label, name or title; null for an owner and for what no longer exists. */
  readonly scope_name: string | null
  readonly spent_usd: string
  readonly reserved_usd: string
  readonly parallel: number
  readonly reset_at: Date | null
}

/** Budgets that a caller may see. */
interface BudgetReach {
  /** Only budgets of this owner and of its keys, agents and sessions; undefined: all. */
  readonly owner: string | undefined
  /** Of the key budgets, only those of this key and its descendants; undefined: all. */
  readonly within: string | undefined
}

interface ListOf extends BudgetReach {
  readonly scope: BudgetName['scope'] | undefined
  /** Last item of the previous page. */
  readonly after: BudgetName | undefined
  readonly limit: number
}

type Queryable = Pick<Pool, 'query'>

/** Channel that notifies every process of changed limits. The payload is `scope:scope_id`. */
export const budgetChannel = 'budgets'

/** True for a changed duration after the end of the old period: the change starts a new one. */
const startsPeriod = 'b.duration is distinct from excluded.duration and b.reset_at <= excluded.anchored_at'

const setText = (clock: string) => `
  with now as materialized (select ${clock} as at)
  insert into budgets as b (scope, scope_id, max_usd, soft_usd, duration, rpm_limit, tpm_limit, max_parallel,
                            anchored_at, period_started_at, reset_at)
  select $1, $2, $3, $4, $5, $6, $7, $8, at, at, budget_period_end(at, $5, at) from now
  on conflict (scope, scope_id) do update
  set max_usd = excluded.max_usd, soft_usd = excluded.soft_usd, duration = excluded.duration,
      rpm_limit = excluded.rpm_limit, tpm_limit = excluded.tpm_limit, max_parallel = excluded.max_parallel,
      anchored_at = case when b.duration is distinct from excluded.duration then excluded.anchored_at else b.anchored_at end,
      reset_at = case when b.duration is distinct from excluded.duration then excluded.reset_at else b.reset_at end,
      period_started_at = case when ${startsPeriod} then excluded.anchored_at else b.period_started_at end,
      spent_usd = case when ${startsPeriod} then 0 else b.spent_usd end,
      warned_at = case
        when b.soft_usd is distinct from excluded.soft_usd or (${startsPeriod}) then null
        else b.warned_at end,
      updated_at = excluded.anchored_at`

const removeText = 'delete from budgets where scope = $1 and scope_id = $2'

/** Columns of `BudgetRow`. `reset_at` is computed for a period that has no write yet. */
const shown = (clock: string) => `
  b.scope, b.scope_id, b.max_usd, b.soft_usd, b.duration, b.rpm_limit, b.tpm_limit, b.max_parallel, b.reserved_usd,
  b.parallel,
  case b.scope
    when 'key' then (select label from api_keys where id = b.scope_id)
    when 'agent' then (select name from agents where id = b.scope_id)
    when 'session' then (select title from sessions where id = b.scope_id)
    when 'team' then (select name from teams where id = b.scope_id) end as scope_name,
  case when b.reset_at <= ${clock} then 0 else b.spent_usd end as spent_usd,
  case when b.reset_at <= ${clock} then budget_period_end(b.anchored_at, b.duration, ${clock}) else b.reset_at end as reset_at`

const ofOwner = `
  case b.scope
    when 'owner' then b.scope_id = $1
    when 'key' then exists (select from api_keys where id = b.scope_id and owner_of_key(owner_id, user_id, team_id) = $1)
    when 'agent' then exists (select from agents where id = b.scope_id and owner_id = $1)
    when 'team' then exists (select from teams where id = b.scope_id and owner_id = $1)
    else exists (select from sessions where id = b.scope_id and owner_id = $1) end`

/** SQL that is true if a key is `ancestor` or descends from it, or if `ancestor` is null. */
const isWithin = (keyId: string, ancestor: string) => `
  (${ancestor}::text is null or ${keyId} = ${ancestor}
   or exists (select from api_keys where id = ${keyId} and ancestors @> array[${ancestor}]))`

/** SQL that is true for budgets of owner $1 and, of keys, for those within key $2 that were not revoked. */
const isListed = `($1::text is null or ${ofOwner})
  and (b.scope <> 'key' or ${isWithin('b.scope_id', '$2')}
       and not exists (select from api_keys where id = b.scope_id and revoked_at is not null))`

interface SetSpend {
  /** US dollars as an exact decimal. */
  readonly usd: string
  readonly resetAt: Date | null
}

interface Options {
  /** SQL that reads the time; the database clock by default. */
  readonly clock?: string
}

/** Table `budgets`: limits of keys, owners, agents, sessions and teams. Reservations and the ledger update its counters. */
export type BudgetStore = ReturnType<typeof budgetStore>

export function budgetStore(pool: Pool, { clock = 'clock_timestamp()' }: Options = {}) {
  const texts = { set: setText(clock), shown: shown(clock) }
  return {
    /**
     * Sets all limits of a budget in the open transaction of `on`, which notifies every process on commit. Keeps the
     * spend. A changed duration starts its first period now.
     */
    async setLimits(on: Queryable, { scope, scope_id }: BudgetName, limits: BudgetLimits): Promise<void> {
      const { max_usd, soft_usd, duration, rpm_limit, tpm_limit, max_parallel } = limits
      await on.query(texts.set, [scope, scope_id, max_usd, soft_usd, duration, rpm_limit, tpm_limit, max_parallel])
      hint(on, budgetChannel, `${scope}:${scope_id}`)
    },

    /** Deletes a budget. Calls in flight with reservations in it finish normally. */
    async remove(on: Queryable, { scope, scope_id }: BudgetName): Promise<void> {
      const { rowCount } = await on.query(removeText, [scope, scope_id])
      if (rowCount) hint(on, budgetChannel, `${scope}:${scope_id}`)
    },

    async find({ scope, scope_id }: BudgetName, on: Queryable = pool): Promise<BudgetRow | undefined> {
      const text = `select ${texts.shown} from budgets b where b.scope = $1 and b.scope_id = $2`
      return (await on.query<BudgetRow>(text, [scope, scope_id])).rows[0]
    },

    /** Lists budgets by scope and id, without those of keys that have no limit or were revoked. */
    async list({ scope, owner, within, after, limit }: ListOf): Promise<BudgetRow[]> {
      const text = `
        select ${texts.shown} from budgets b
        where ${isListed} and ($3::text is null or b.scope = $3)
          and (b.scope <> 'key' or num_nonnulls(b.max_usd, b.soft_usd, b.rpm_limit, b.tpm_limit, b.max_parallel) > 0)
          and ($4::text is null or (b.scope, b.scope_id) > ($4, $5))
        order by b.scope, b.scope_id limit $6`
      const values = [owner, within, scope, after?.scope, after?.scope_id, limit]
      return (await pool.query<BudgetRow>(text, values)).rows
    },

    /** Returns the budgets of which this share is spent or reserved, the fullest first. */
    async full(
      { owner, within }: BudgetReach,
      { share, limit }: { share: number; limit: number },
    ): Promise<BudgetRow[]> {
      const text = `
        select * from (select ${texts.shown} from budgets b where b.max_usd > 0 and ${isListed}) shown
        where spent_usd + reserved_usd >= $3::numeric * max_usd
        order by (spent_usd + reserved_usd) / max_usd desc, scope, scope_id limit $4`
      return (await pool.query<BudgetRow>(text, [owner, within, share, limit])).rows
    },

    /** True if the budget has a row. */
    async exists(client: Queryable, { scope, scope_id }: BudgetName): Promise<boolean> {
      const text = 'select from budgets where scope = $1 and scope_id = $2'
      return (await client.query(text, [scope, scope_id])).rows.length > 0
    },

    /** Sets what was spent in the current period, which ends at `resetAt` and determines the later ones. */
    async setSpend(client: Queryable, { scope, scope_id }: BudgetName, { usd, resetAt }: SetSpend): Promise<void> {
      const text = `
        update budgets set spent_usd = $3, reset_at = coalesce($4, reset_at), anchored_at = coalesce($4, anchored_at)
        where scope = $1 and scope_id = $2`
      await client.query(text, [scope, scope_id, usd, resetAt])
    },

    /** Returns the owner of the budget's key, agent or session; undefined if that does not exist. */
    async ownerOf({ scope, scope_id }: BudgetName): Promise<string | null | undefined> {
      if (scope === 'owner') return scope_id
      const tables = { key: 'api_keys', agent: 'agents', session: 'sessions', team: 'teams' } as const
      const owner = scope === 'key' ? 'owner_of_key(owner_id, user_id, team_id)' : 'owner_id'
      const text = `select ${owner} as owner_id from ${tables[scope]} where id = $1`
      return (await pool.query<{ owner_id: string | null }>(text, [scope_id])).rows[0]?.owner_id
    },

    /** True if the key is `ancestor` or one of its descendants. */
    async isWithin(keyId: string, ancestor: string): Promise<boolean> {
      const { rows } = await pool.query<{ is: boolean }>(`select ${isWithin('$1', '$2')} as is`, [keyId, ancestor])
      return rows[0]?.is ?? false
    },

    /** Returns those of the given budgets that have a limit, or that are of a session below one with a limit. */
    async limited(names: readonly BudgetName[]): Promise<BudgetName[]> {
      const text = `
        with given as (select * from unnest($1::text[], $2::text[]) as given (scope, scope_id)), payers as (
          select *, scope_id as payer from given
          union all
          select given.*, unnest(s.ancestors) from given join sessions s on s.id = scope_id where scope = 'session'
        )
        select distinct scope, payers.scope_id from payers join budgets b using (scope)
        where b.scope_id = payer and num_nonnulls(max_usd, soft_usd, rpm_limit, tpm_limit, max_parallel) > 0`
      const values = [names.map(({ scope }) => scope), names.map(({ scope_id }) => scope_id)]
      return (await pool.query<BudgetName>({ name: 'limited_budgets', text, values })).rows
    },
  }
}
