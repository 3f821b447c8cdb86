import type { Pool } from 'pg'
import type { Queryable } from '../log/event-store.ts'

/** A session whose first prompt waits for its budget, and which has room for it now. */
export interface ReadySession {
  readonly session_id: string
  /** How often the prompt was stopped in a row: what a resumption compares with. */
  readonly times: number
}

interface Pause {
  readonly sessionId: string
  /** US dollars that the refused call may cost at most; null: not known. */
  readonly needsUsd: number | null
  /** True when the run got anything done: the count of stops starts anew. */
  readonly hasProgressed: boolean
}

/** A prompt that is stopped again and again is tried less and less often: after 0, 5, 10, 20 ... 300 s. */
const heldUntil = (times: string) =>
  `clock_timestamp() + interval '1 second' * case when ${times} <= 1 then 0 else least(5 * 2 ^ (least(${times}, 9) - 2), 300) end`

const pauseText = `
  with stopped as (
    update prompts set state = 'waiting', run_id = null, held_times = case when $3 then 1 else held_times + 1 end
    where session_id = $1 and state = 'running' returning id, held_times
  )
  insert into waits (prompt_id, kind, session_id, needs_usd, not_before)
  select id, 'budget', $1, $2, ${heldUntil('held_times')} from stopped`

/**
 * Joins each paused session with the budgets that limit it. `room` is what may still be spent, and those that were queued
 * first come first. A key draws on the budgets of its ancestors too. Nothing limits a session without such a row any more.
 * `$1` names budgets that were just changed: who waits for those is not left alone any longer. Nor does anybody wait under a key that was revoked or has expired: no
 * money helps there, and the run says so.
 */
const readyText = `
  with paused as (
    select distinct on (p.session_id) p.session_id, p.id, p.created_at, p.held_times, w.needs_usd,
           p.key_id, line.keys, s.owner_id, s.agent_id,
           w.not_before <= clock_timestamp() or $1::text[] && (array[
             'owner:' || s.owner_id, 'agent:' || s.agent_id, 'session:' || p.session_id]
             || array(select 'key:' || id from unnest(line.keys) as id)) as is_due,
           p.key_id is not null and not exists (
             select from api_keys k where k.id = p.key_id and k.revoked_at is null
               and (k.expires_at is null or k.expires_at > clock_timestamp())) as is_hopeless
    from waits w join prompts p on p.id = w.prompt_id join sessions s on s.id = p.session_id
    left join lateral (select id || ancestors as keys from api_keys where id = p.key_id) line on true
    where w.kind = 'budget' and s.deleted_at is null
    order by p.session_id, p.position
  ), payers as (
    select paused.*, b.scope, b.scope_id,
           b.max_usd - b.reserved_usd - case when b.reset_at <= clock_timestamp() then 0 else b.spent_usd end as room
    from paused
    left join lateral (
      select budgets.* from budgets join (
        values ('owner', paused.owner_id), ('agent', paused.agent_id), ('session', paused.session_id)
        union all select 'key', unnest(paused.keys)
      ) as payer (scope, scope_id) using (scope, scope_id)
      where max_usd is not null
    ) b on true
  ), fitting as (
    select session_id from payers group by session_id
    having bool_or(is_hopeless)
        or (bool_or(is_due) and bool_and(room is null or (room > 0 and room >= coalesce(needs_usd, 0))))
  ), in_line as (
    select payers.*, sum(coalesce(needs_usd, 0)) over (partition by scope, scope_id order by created_at, id) as wanted
    from payers join fitting using (session_id)
  )
  select session_id, held_times as times from in_line
  group by session_id, held_times having bool_or(is_hopeless) or bool_and(room is null or room >= wanted)
  order by min(created_at) limit $2`

/** Rows of table `waits` whose prompts a budget has stopped. */
export type PauseStore = ReturnType<typeof pauseStore>

export function pauseStore(pool: Pool) {
  return {
    /** Puts the prompts of the run back to their places, to wait until their budgets have room. */
    async pause(on: Queryable, { sessionId, needsUsd, hasProgressed }: Pause): Promise<void> {
      await on.query(pauseText, [sessionId, needsUsd, hasProgressed])
    },

    /** Paused sessions whose budgets have room, oldest first. `changed`: budgets as `scope:id` that were just changed. */
    async ready(changed: readonly string[], limit: number): Promise<ReadySession[]> {
      const { rows } = await pool.query<ReadySession>({
        name: 'ready_paused',
        text: readyText,
        values: [changed, limit],
      })
      return rows
    },

    /** Lets a paused session go on. False when somebody else did so, or stopped it, since it was looked at. */
    async resume(on: Queryable, { session_id, times }: ReadySession): Promise<boolean> {
      const text = `
        delete from waits where session_id = $1 and kind = 'budget' and $2 = (
          select held_times from prompts p where p.session_id = $1 and exists (
            select from waits where prompt_id = p.id and kind = 'budget')
          order by position limit 1)`
      const { rowCount } = await on.query(text, [session_id, times])
      return (rowCount ?? 0) > 0
    },

    /** Cancels the paused prompts of a session, or the one named. Their ids, in order. */
    async cancel(on: Queryable, sessionId: string, promptId?: string): Promise<string[]> {
      const text = `
        with ended as (
          delete from waits where session_id = $1 and kind = 'budget' and ($2::text is null or prompt_id = $2)
          returning prompt_id
        ), cancelled as (
          update prompts set state = 'cancelled', ended_at = clock_timestamp()
          where id in (select prompt_id from ended) returning id, position
        )
        select id from cancelled order by position`
      const { rows } = await on.query<{ id: string }>(text, [sessionId, promptId])
      return rows.map(({ id }) => id)
    },

    /** True when the prompt waits, or stands behind one that waits, for a budget. */
    async isPaused(promptId: string): Promise<boolean> {
      const text = `
        select from prompts p join prompts held using (session_id) join waits on waits.prompt_id = held.id
        where p.id = $1 and p.state = 'waiting' and waits.kind = 'budget' and held.position <= p.position`
      const { rowCount } = await pool.query(text, [promptId])
      return (rowCount ?? 0) > 0
    },
  }
}
