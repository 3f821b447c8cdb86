import type { Pool } from 'pg'
import type { CustomToolCall } from '../../../contract/custom-tools.ts'
import type { Queryable } from '../log/event-store.ts'

/** A call of an agent whose session works, or whose requests the log of the calling session still shows. */
export interface ThreadCall {
  readonly id: string
  readonly child_id: string
  readonly tool_use_id: string
  readonly agent_name: string
  readonly is_running: boolean
  /** Ids of the events that ask, as the log of the calling session shows them. */
  readonly requests: readonly string[]
  /** Ids of the events that ask now: of the called session, and of those that it has called. */
  readonly requests_now: readonly string[]
  readonly is_idle_logged: boolean
}

/** The state of a session that has called others. */
export interface CallingSession {
  /** True while it waits for sessions that it has called. */
  readonly is_parked: boolean
  /** True while one of its prompts runs. */
  readonly is_busy: boolean
  /** Ids of its own events that ask. */
  readonly own_requests: readonly string[]
}

/** What was answered to an event that asks. */
export type ThreadAnswer =
  | {
      readonly id: string
      readonly kind: 'confirmation'
      readonly result: 'allow' | 'deny'
      readonly message: string | null
      readonly input: unknown
      readonly decided_by: string | null
    }
  | {
      readonly id: string
      readonly kind: 'result'
      readonly tool_use_id: string
      readonly content: CustomToolCall['content']
      readonly is_error: boolean | null
    }

/** A session that asks, among those that another one has called. */
export interface AskingThread {
  readonly id: string
  readonly runtime: string
}

const requestsOf = (session: string) =>
  `select w.subject from waits w where w.session_id = ${session} and w.kind in ('approval', 'custom_tool')`

const requestsNow = `
  case when c.state = 'running' then array(
    ${requestsOf('c.child_id')}
    union
    select unnest(k.requests) from subagent_calls k where k.session_id = c.child_id and k.state = 'running'
    order by 1) else '{}' end`

/** A run that waits for a called session does nothing else. */
const isParked = (session: string) =>
  `exists (select from waits w where w.session_id = ${session} and w.kind = 'subagent')`

const maxCallers = 100

/** Requests of called sessions for answers of a person or a client: in tables `subagent_calls` and `waits`. */
export type ThreadRequestStore = ReturnType<typeof threadRequestStore>

export function threadRequestStore(pool: Pool) {
  return {
    /** Returns sessions whose logs do not show the requests of now; among `sessionIds`, callers or called, if given. */
    async behind(sessionIds?: readonly string[]): Promise<string[]> {
      const text = `
        select distinct c.session_id from subagent_calls c
        where (c.state = 'running' or c.requests <> '{}')
          and ($1::text[] is null or c.session_id = any ($1) or c.child_id = any ($1))
          and (c.requests <> ${requestsNow}
            or (c.requests <> '{}' and not c.is_idle_logged and ${isParked('c.session_id')}))
        order by 1 limit ${maxCallers}`
      const { rows } = await pool.query<{ session_id: string }>({
        name: 'thread_requests',
        text,
        values: [sessionIds],
      })
      return rows.map(({ session_id }) => session_id)
    },

    /** Returns the calls of a session. Requires a transaction that has locked it. */
    async callsOf(on: Queryable, sessionId: string): Promise<ThreadCall[]> {
      const text = `
        select c.id, c.child_id, c.tool_use_id, c.agent_name, c.state = 'running' as is_running, c.requests,
               ${requestsNow} as requests_now, c.is_idle_logged
        from subagent_calls c where c.session_id = $1 and (c.state = 'running' or c.requests <> '{}') order by c.id`
      return (await on.query<ThreadCall>({ name: 'threads_of_session', text, values: [sessionId] })).rows
    },

    async callingSession(on: Queryable, sessionId: string): Promise<CallingSession> {
      const text = `
        select ${isParked('$1')} as is_parked, array(${requestsOf('$1')} order by 1) as own_requests,
               exists (select from prompts p where p.session_id = $1 and p.state = 'running') as is_busy`
      const { rows } = await on.query<CallingSession>({ name: 'calling_session', text, values: [sessionId] })
      return rows[0] ?? { is_parked: false, is_busy: false, own_requests: [] }
    },

    /** Records what the log of a calling session shows of one of its calls. */
    async logged(on: Queryable, id: string, requests: readonly string[], isIdle: boolean): Promise<void> {
      const text = 'update subagent_calls set requests = $2, is_idle_logged = $3 where id = $1'
      await on.query({ name: 'logged_requests', text, values: [id, requests, isIdle] })
    },

    /** Returns the answers to these events that exist. */
    async answers(on: Queryable, ids: readonly string[]): Promise<ThreadAnswer[]> {
      const decided = `
        select id, 'confirmation' as kind, case state when 'allowed' then 'allow' else 'deny' end as result, message,
               edited_input as input, decided_by
        from approvals where id = any ($1) and state in ('allowed', 'denied') order by id`
      const sent = `
        select id, 'result' as kind, tool_use_id, content, is_error
        from custom_tool_calls where id = any ($1) and state = 'answered' order by id`
      const confirmations = await on.query<ThreadAnswer>(decided, [ids])
      const results = await on.query<ThreadAnswer>(sent, [ids])
      return [...confirmations.rows, ...results.rows]
    },

    /** Returns the session below `sessionId` that asks with that event; undefined when there is none. */
    async askingThread(sessionId: string, eventId: string): Promise<AskingThread | undefined> {
      const text = `
        select s.id, s.runtime from sessions s
        where s.ancestors <> '{}' and s.ancestors @> array[$1] and s.deleted_at is null and s.id in (
          select session_id from approvals where id = $2 union all
          select session_id from custom_tool_calls where id = $2)`
      return (await pool.query<AskingThread>(text, [sessionId, eventId])).rows[0]
    },
  }
}
