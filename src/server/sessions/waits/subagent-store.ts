import type { Pool } from 'pg'
import type { PromptState } from '../../../contract/prompts.ts'
import type { SubagentEnd } from '../../tools/subagents.ts'
import type { Queryable } from '../log/event-store.ts'

/** A call of an agent, with what its events need. */
export interface StoredSubagentCall {
  readonly id: string
  readonly session_id: string
  readonly prompt_id: string
  readonly tool_use_id: string
  readonly name: string
  readonly agent_id: string
  readonly agent_name: string
  readonly state: 'queued' | 'running' | 'ended'
  readonly child_id: string | null
  readonly child_prompt_id: string | null
  readonly content: SubagentEnd['content'] | null
  readonly is_error: boolean | null
}

/** A running call whose session works no longer, or waits for its own budget. */
export interface OverCall extends StoredSubagentCall {
  readonly child_id: string
  /** State of the prompt that the call sent; null when it was purged. */
  readonly prompt_state: PromptState | null
  readonly run_id: string | null
  readonly is_deleted: boolean
  /** US dollars of the session's own budget when that has stopped it, as an exact decimal. */
  readonly used_up_usd: string | null
}

interface NewCall {
  readonly sessionId: string
  readonly eventId: string
  readonly promptId: string
  readonly name: string
  readonly agentId: string
  readonly agentName: string
}

/** Where a call is worked on. */
interface Started {
  readonly childId: string
  readonly childPromptId: string
}

const columns = `
  c.id, c.session_id, c.prompt_id, c.tool_use_id, c.name, c.agent_id, c.agent_name, c.state, c.child_id,
  c.child_prompt_id, c.content, c.is_error`

/** A budget of the called session itself, which nothing but a change of its limit ends. */
const stoppedByOwn = `
  select b.max_usd::text from waits w join budgets b on b.scope = 'session' and b.scope_id = c.child_id
  where w.prompt_id = p.id and w.kind = 'budget' and w.scope = 'session' and w.scope_id = c.child_id`

const maxCalls = 100

/** Table `subagent_calls`: one row per call of an agent. */
export type SubagentStore = ReturnType<typeof subagentStore>

export function subagentStore(pool: Pool) {
  return {
    /** Stores the call of a logged event; an existing row stays. Returns the row. */
    async open({ sessionId, eventId, promptId, name, agentId, agentName }: NewCall): Promise<StoredSubagentCall> {
      const insert = `
        insert into subagent_calls (id, session_id, prompt_id, tool_use_id, name, agent_id, agent_name)
        select id, session_id, $3, payload ->> 'tool_use_id', $4, $5, $6
        from session_events where session_id = $1 and id = $2
        on conflict (id) do nothing`
      await pool.query({
        name: 'open_subagent_call',
        text: insert,
        values: [sessionId, eventId, promptId, name, agentId, agentName],
      })
      const call = await this.find(eventId)
      if (!call) throw new Error(`event ${eventId} is not a call of an agent, but a run waits for it (bug)`)
      return call
    },

    async find(id: string, on: Queryable = pool): Promise<StoredSubagentCall | undefined> {
      const text = `select ${columns} from subagent_calls c where c.id = $1`
      return (await on.query<StoredSubagentCall>({ name: 'find_subagent_call', text, values: [id] })).rows[0]
    },

    /** Returns the call that a session works on, or has worked on. */
    async ofChild(on: Queryable, childId: string): Promise<StoredSubagentCall | undefined> {
      const text = `select ${columns} from subagent_calls c where c.child_id = $1`
      return (await on.query<StoredSubagentCall>({ name: 'call_of_child', text, values: [childId] })).rows[0]
    },

    /** Returns the calls of a session without a result, oldest first. */
    async openOf(sessionId: string): Promise<StoredSubagentCall[]> {
      const text = `select ${columns} from subagent_calls c where c.session_id = $1 and c.state <> 'ended' order by c.id`
      return (await pool.query<StoredSubagentCall>({ name: 'open_subagent_calls', text, values: [sessionId] })).rows
    },

    /** Returns the arguments of a call: those of the person who allowed it, else those of its event. */
    async input({ id, session_id }: Pick<StoredSubagentCall, 'id' | 'session_id'>): Promise<unknown> {
      const text = `
        select coalesce(a.edited_input, e.payload -> 'input') as input
        from session_events e left join approvals a on a.id = e.id where e.session_id = $1 and e.id = $2`
      return (await pool.query<{ input: unknown }>(text, [session_id, id])).rows[0]?.input
    },

    /** Records the session that works on a queued call. */
    async start(on: Queryable, id: string, { childId, childPromptId }: Started): Promise<void> {
      const text = `
        update subagent_calls set state = 'running', child_id = $2, child_prompt_id = $3
        where id = $1 and state = 'queued'`
      const { rowCount } = await on.query(text, [id, childId, childPromptId])
      if (rowCount !== 1) throw new Error(`call ${id} of an agent was started twice (bug)`)
    },

    /** Stores the result of a call. Returns false when it has one. */
    async end(on: Queryable, id: string, { content, is_error }: SubagentEnd): Promise<boolean> {
      const text = `
        update subagent_calls set state = 'ended', content = $2, is_error = $3, ended_at = clock_timestamp()
        where id = $1 and state <> 'ended'`
      return (await on.query(text, [id, JSON.stringify(content), is_error])).rowCount === 1
    },

    /** Makes the running prompts of the session wait for a call. Requires a transaction that has locked the session. */
    async wait(on: Queryable, sessionId: string, id: string): Promise<void> {
      const text = `
        insert into waits (prompt_id, kind, subject, session_id)
        select p.id, 'subagent', $2, $1 from prompts p where p.session_id = $1 and p.state = 'running'
        on conflict do nothing`
      await on.query(text, [sessionId, id])
    },

    /** Ends the waits for a call; all waits for calls of the session when one of them is queued: it may start now. */
    async endWaits(on: Queryable, sessionId: string, id: string): Promise<void> {
      const text = `
        delete from waits where session_id = $1 and kind = 'subagent' and (subject = $2 or exists (
          select from subagent_calls where session_id = $1 and state = 'queued'))`
      await on.query(text, [sessionId, id])
    },

    /** Returns running calls whose sessions have an end, oldest first; of `sessionIds`, callers or called, if given. */
    async over(sessionIds?: readonly string[]): Promise<OverCall[]> {
      const text = `
        select ${columns}, p.state as prompt_state, p.run_id, s.deleted_at is not null as is_deleted,
               (${stoppedByOwn} limit 1) as used_up_usd
        from subagent_calls c join sessions s on s.id = c.child_id left join prompts p on p.id = c.child_prompt_id
        where c.state = 'running' and ($1::text[] is null or c.session_id = any ($1) or c.child_id = any ($1))
          and (s.deleted_at is not null or p.id is null or p.state not in ('waiting', 'running') or exists (${stoppedByOwn}))
        order by c.created_at limit ${maxCalls}`
      return (await pool.query<OverCall>({ name: 'over_subagent_calls', text, values: [sessionIds] })).rows
    },

    /** Returns open calls whose callers wait no longer, oldest first; of these callers, if given. */
    async orphans(sessionIds?: readonly string[]): Promise<StoredSubagentCall[]> {
      const text = `
        select ${columns} from subagent_calls c join sessions s on s.id = c.session_id
        where c.state <> 'ended' and ($1::text[] is null or c.session_id = any ($1))
          and (s.deleted_at is not null or not exists (
            select from prompts p where p.id = c.prompt_id and p.state in ('waiting', 'running')))
        order by c.created_at limit ${maxCalls}`
      return (await pool.query<StoredSubagentCall>({ name: 'orphaned_calls', text, values: [sessionIds] })).rows
    },

    /** Returns the sessions that work on calls of this one. */
    async workingFor(on: Queryable, sessionId: string): Promise<string[]> {
      const text = `select child_id from subagent_calls where session_id = $1 and state = 'running' order by child_id`
      const { rows } = await on.query<{ child_id: string }>({ name: 'working_for', text, values: [sessionId] })
      return rows.map(({ child_id }) => child_id)
    },
  }
}
