import type { Pool } from 'pg'
import type { A2aTaskState } from '../../contract/a2a-objects.ts'
import type { PromptPart } from '../../contract/prompts.ts'

/** A prompt as a task. */
export interface TaskRow {
  readonly id: string
  readonly session_id: string
  readonly agent_id: string
  readonly message_id: string | null
  readonly parts: readonly PromptPart[]
  readonly created_at: Date
  readonly state: A2aTaskState
  /** When it got that state. */
  readonly updated_at: Date
}

/** The tasks that a caller may see: those of one agent, of one owner. */
interface Scope {
  /** Undefined: of any agent. */
  readonly agentId: string | undefined
  /** Undefined: of any owner. */
  readonly owner: string | undefined
}

export interface TaskFilter extends Scope {
  readonly sessionId: string | undefined
  readonly state: A2aTaskState | undefined
  /** Only tasks that got their state at this time or later. */
  readonly from: Date | undefined
  /** Key of the last task of the previous page. */
  readonly after: string | undefined
  readonly limit: number
}

export interface TaskPage {
  readonly rows: TaskRow[]
  /** Number of tasks on all pages. */
  readonly total: number
}

/** Returns the cursor of a task in the list. */
export const taskKey = ({ updated_at, id }: TaskRow): string => `${updated_at.toISOString()} ${id}`

/** True for a text that `taskKey` can return. */
export function isTaskKey(text: string): boolean {
  const [, written = ''] = /^(\S{24}) \w+$/.exec(text) ?? []
  const time = new Date(written)
  return !Number.isNaN(time.getTime()) && time.toISOString() === written
}

// Milliseconds, so that a cursor is exact. Conditions are in line with `sessions/waits`.
const tasksText = `
  select p.id, p.session_id, s.agent_id, p.message_id, p.parts, p.created_at,
         case
           when p.state = 'done' then 'TASK_STATE_COMPLETED'
           when p.state = 'error' then 'TASK_STATE_FAILED'
           when p.state = 'cancelled' then 'TASK_STATE_CANCELED'
           when w.is_question then 'TASK_STATE_INPUT_REQUIRED'
           when not w.is_question then 'TASK_STATE_AUTH_REQUIRED'
           when p.started_at is null then 'TASK_STATE_SUBMITTED'
           else 'TASK_STATE_WORKING'
         end as state,
         date_trunc('milliseconds', coalesce(p.ended_at, w.since, p.started_at, p.created_at)) as updated_at
  from sessions s join prompts p on p.session_id = s.id
  left join lateral (
    select bool_or(kind in ('approval', 'custom_tool')) as is_question, max(created_at) as since from waits
    where prompt_id = p.id and kind in ('approval', 'custom_tool', 'budget', 'freeze') and (until is null or until > statement_timestamp())
  ) w on true
  where ($1::text is null or s.agent_id = $1) and ($2::text is null or s.owner_id = $2) and s.deleted_at is null and p.kind = 'prompt'`

const listText = `
  with tasks as (
    select * from (${tasksText} and ($3::text is null or s.id = $3)) t
    where ($4::text is null or t.state = $4) and ($5::timestamptz is null or t.updated_at >= $5)
  )
  select counted.total, page.* from (select count(*)::int as total from tasks) counted
  left join lateral (
    select * from tasks where $6::timestamptz is null or (updated_at, id) < ($6, $7)
    order by updated_at desc, id desc limit $8
  ) page on true
  order by page.updated_at desc, page.id desc`

/** Prompts of an agent's sessions as tasks, from the tables of sessions. */
export type TaskStore = ReturnType<typeof taskStore>

export function taskStore(pool: Pool) {
  return {
    /** Returns a task; undefined when there is none with that id in the scope. */
    async find(id: string, { agentId, owner }: Scope): Promise<TaskRow | undefined> {
      return (await pool.query<TaskRow>(`${tasksText} and p.id = $3`, [agentId, owner, id])).rows[0]
    },

    /** Returns a page of tasks, the most recently changed first. */
    async list({ agentId, owner, sessionId, state, from, after, limit }: TaskFilter): Promise<TaskPage> {
      const [updatedAt, id] = after?.split(' ') ?? []
      const values = [agentId, owner, sessionId, state, from, updatedAt, id, limit]
      const { rows } = await pool.query<TaskRow & { total: number }>(listText, values)
      return { rows: rows.filter(row => row.id !== null), total: rows[0]?.total ?? 0 }
    },
  }
}
