import type { Pool } from 'pg'
import type { Queryable } from '../log/event-store.ts'

/** A session whose first prompt waits for a budget that has room now. */
export interface ReadySession {
  readonly session_id: string
  /** How often in a row the prompt was stopped; `resume` compares it to detect changes. */
  readonly times: number
}

/** Scope of a budget. */
export interface BudgetId {
  readonly scope: string
  readonly scope_id: string
}

interface ReadyQuery {
  /** Recently changed budgets, as `scope:id`. */
  readonly changed: readonly string[]
  /** Maximum number of sessions. */
  readonly limit: number
  /** Where the previous query ended, if it had more budgets than its limit. */
  readonly after?: BudgetId | undefined
}

interface Found {
  /** Oldest first. */
  readonly sessions: readonly ReadySession[]
  /** Where the next query starts; undefined means at the beginning. */
  readonly after: BudgetId | undefined
}

interface Pause {
  readonly sessionId: string
  readonly kind: 'budget' | 'freeze'
  /** The budget that rejected the call; undefined when unknown. */
  readonly budget?: BudgetId
  /** Maximum cost of the rejected call in US dollars; null when unknown. */
  readonly needsUsd: number | null
  /** True when the run made progress, which resets the count of stops. */
  readonly hasProgressed: boolean
}

/** A prompt that is stopped repeatedly backs off: 0, 5, 10, 20 ... 300 s. */
const backOffUntil = (times: string) =>
  `clock_timestamp() + interval '1 second' * case when ${times} <= 1 then 0 else least(5 * 2 ^ (least(${times}, 9) - 2), 300) end`

const pauseText = `
  with stopped as (
    update prompts set state = 'waiting', run_id = null, held_times = case when $3 then 1 else held_times + 1 end
    where session_id = $1 and state = 'running' returning id, held_times, key_id
  )
  insert into waits (prompt_id, kind, session_id, needs_usd, not_before, scope, scope_id, key_id)
  select id, $6, $1, $2, ${backOffUntil('held_times')}, $4, $5, key_id from stopped`

/** Maximum number of budgets, and of keys, per query. */
const maxExamined = 1_000
/**
 * Maximum number of waits per budget. Waits are grouped by the budget that stops them, so one group never blocks
 * another.
 */
const maxOfOne = 200

const ofBudget = (budget: string) => `
  kind = 'budget' and scope = ${budget}.scope and scope_id = ${budget}.scope_id`

/** One index look-up per budget with waits, regardless of their number. `$3`, `$4`: where to start. */
const budgetsText = `
  waited as (
    (select scope, scope_id from waits where kind = 'budget' and (scope, scope_id) > ($3, $4) order by scope, scope_id limit 1)
    union all
    select next.scope, next.scope_id from waited cross join lateral (
      select scope, scope_id from waits where kind = 'budget' and (scope, scope_id) > (waited.scope, waited.scope_id)
      order by scope, scope_id limit 1
    ) next
  ), examined as materialized (
    select scope, scope_id from waited limit ${maxExamined}
  ), named as (
    select scope, scope_id from examined
    union select split_part(name, ':', 1), substr(name, strpos(name, ':') + 1) from unnest($1::text[]) as name
  ), with_room as materialized (
    select named.*, room from named left join lateral (
      select max_usd - reserved_usd - case when reset_at <= clock_timestamp() then 0 else spent_usd end as room
      from budgets where scope = named.scope and scope_id = named.scope_id and max_usd is not null
    ) budget on true
    where room is null or room > 0
  )`

const keysText = `
  keys_waited as (
    (select key_id from waits where kind = 'budget' order by key_id limit 1)
    union all
    select next.key_id from keys_waited k cross join lateral (
      select key_id from waits where kind = 'budget' and key_id > k.key_id order by key_id limit 1
    ) next
  ), dead_keys as materialized (
    select key_id from (select key_id from keys_waited limit ${maxExamined}) k
    where key_id is not null and not is_key_valid(k.key_id)
  )`

/** `$1` names recently changed budgets: waits for those are checked without their back-off. */
const isDue = `
  (w.not_before <= clock_timestamp() or w.not_before is null or $1::text[] && (array[
    'owner:' || s.owner_id, 'agent:' || s.agent_id, 'session:' || p.session_id, 'team:' || line.team]
    || array(select 'session:' || id from unnest(s.ancestors) as id) || array(select 'key:' || id from unnest(line.keys) as id)))`

/**
 * Joins the waits for budgets with room with all budgets that limit them. `room` is the amount that may still be spent;
 * it goes to the oldest prompts first. Keys and sessions also draw on the budgets of their ancestors. A session without a budget row
 * has no limit. A wait under an invalid key ends: its run reports the error. A wait that another budget stops
 * is moved to that budget.
 */
const readyText = `
  with recursive ${budgetsText}, ${keysText}, candidates as materialized (
    select session_id from with_room cross join lateral (
      select session_id from waits w
      where ${ofBudget('with_room')} and (room is null or coalesce(needs_usd, 0) <= room)
        and (w.not_before <= clock_timestamp() or w.not_before is null or cardinality($1::text[]) > 0)
      order by created_at limit ${maxOfOne}
    ) w
    union select session_id from dead_keys cross join lateral (
      select session_id from waits where kind = 'budget' and key_id = dead_keys.key_id limit ${maxOfOne}
    ) w
    union (select session_id from waits where kind = 'budget' and scope is null limit ${maxOfOne})
  ), paused as materialized (
    select distinct on (p.session_id) p.session_id, p.id, p.created_at, p.held_times, w.needs_usd,
           p.key_id, line.keys, line.team, s.owner_id, s.agent_id, s.ancestors, ${isDue} as is_due,
           p.key_id is not null and not is_key_valid(p.key_id) as is_hopeless
    from candidates join waits w on w.session_id = candidates.session_id and w.kind = 'budget'
    join prompts p on p.id = w.prompt_id join sessions s on s.id = p.session_id
    left join lateral (
      select id || ancestors as keys, team_of_key(team_id, user_id) as team from api_keys where id = p.key_id
    ) line on true
    where s.deleted_at is null
    order by p.session_id, p.position
  ), payers as materialized (
    select paused.*, b.scope, b.scope_id,
           b.max_usd - b.reserved_usd - case when b.reset_at <= clock_timestamp() then 0 else b.spent_usd end as room
    from paused
    left join lateral (
      select budgets.* from (
        values ('owner', paused.owner_id), ('agent', paused.agent_id), ('session', paused.session_id), ('team', paused.team)
        union all select 'key', unnest(paused.keys)
        union all select 'session', unnest(paused.ancestors)
      ) as payer (scope, scope_id) cross join lateral (
        select * from budgets where scope = payer.scope and scope_id = payer.scope_id and max_usd is not null
      ) budgets
    ) b on true
  ), fitting as (
    select session_id from payers group by session_id
    having bool_or(is_hopeless)
        or (bool_or(is_due) and bool_and(room is null or (room > 0 and room >= coalesce(needs_usd, 0))))
  ), stopped as (
    select distinct on (session_id) session_id, scope, scope_id from payers
    where room is not null and (room <= 0 or room < coalesce(needs_usd, 0))
  ), elsewhere as (
    select w.prompt_id, stopped.scope, stopped.scope_id from stopped join waits w using (session_id)
    where w.kind = 'budget' and (w.scope, w.scope_id) is distinct from (stopped.scope, stopped.scope_id)
    for update of w skip locked
  ), moved as (
    update waits set scope = elsewhere.scope, scope_id = elsewhere.scope_id
    from elsewhere where waits.prompt_id = elsewhere.prompt_id and kind = 'budget'
  ), in_line as (
    select payers.*, sum(coalesce(needs_usd, 0)) over (partition by scope, scope_id order by created_at, id) as wanted
    from payers join fitting using (session_id)
  ), ready as (
    select session_id, held_times as times, min(created_at) as since from in_line
    group by session_id, held_times having bool_or(is_hopeless) or bool_and(room is null or room >= wanted)
    order by since limit $2
  )
  select (select coalesce(json_agg(json_build_object('session_id', session_id, 'times', times) order by since), '[]') from ready) as sessions,
         (select json_build_object('scope', scope, 'scope_id', scope_id) from examined offset ${maxExamined - 1}) as after`

/** Rows of table `waits` whose prompts a budget has stopped. */
export type PauseStore = ReturnType<typeof pauseStore>

export function pauseStore(pool: Pool) {
  return {
    /** Returns the prompts of the run to their queue positions, where they wait until their budgets have room. */
    async pause(on: Queryable, { sessionId, kind, budget, needsUsd, hasProgressed }: Pause): Promise<void> {
      await on.query(pauseText, [sessionId, needsUsd, hasProgressed, budget?.scope, budget?.scope_id, kind])
    },

    /** Returns paused sessions whose budgets have room. */
    async ready({ changed, limit, after }: ReadyQuery): Promise<Found> {
      const values = [changed, limit, after?.scope ?? '', after?.scope_id ?? '']
      const { rows } = await pool.query<{ sessions: ReadySession[]; after: BudgetId | null }>({
        name: 'ready_paused',
        text: readyText,
        values,
      })
      return { sessions: rows[0]?.sessions ?? [], after: rows[0]?.after ?? undefined }
    },

    /** Resumes a paused session. Returns false when it was resumed or stopped since the check. */
    async resume(on: Queryable, { session_id, times }: ReadySession): Promise<boolean> {
      const text = `
        delete from waits where session_id = $1 and kind = 'budget' and $2 = (
          select held_times from prompts p where p.session_id = $1 and exists (
            select from waits where prompt_id = p.id and kind = 'budget')
          order by position limit 1)`
      const { rowCount } = await on.query(text, [session_id, times])
      return (rowCount ?? 0) > 0
    },

    /** Cancels the paused prompts of a session, or only `promptId`. Returns their ids in order. */
    async cancel(on: Queryable, sessionId: string, promptId?: string): Promise<string[]> {
      const text = `
        with ended as (
          delete from waits where session_id = $1 and kind in ('budget', 'freeze') and ($2::text is null or prompt_id = $2)
          returning prompt_id
        ), cancelled as (
          update prompts set state = 'cancelled', ended_at = clock_timestamp()
          where id in (select prompt_id from ended) returning id, position
        )
        select id from cancelled order by position`
      const { rows } = await on.query<{ id: string }>(text, [sessionId, promptId])
      return rows.map(({ id }) => id)
    },

    /** True when the prompt, or one before it in the queue, waits for a budget or the end of a freeze. */
    async isPaused(promptId: string): Promise<boolean> {
      const text = `
        select from prompts p join prompts waiting using (session_id) join waits on waits.prompt_id = waiting.id
        where p.id = $1 and p.state = 'waiting' and waits.kind in ('budget', 'freeze') and waiting.position <= p.position`
      const { rowCount } = await pool.query(text, [promptId])
      return (rowCount ?? 0) > 0
    },
  }
}
