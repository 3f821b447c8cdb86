import type { Pool } from 'pg'
import type { Approval, ApprovalState } from '../../../contract/approvals.ts'
import type { Queryable } from '../log/event-store.ts'
import type { ApprovalPolicy } from './approval-policy.ts'

/** State of an approval and the message of the person who decided. */
export interface ApprovalDecision {
  readonly state: ApprovalState
  readonly message: string | null
  /** Arguments of the person who allowed the call; null when they did not change them. */
  readonly edited_input: unknown
}

/** What the run of a call reads of its approval. */
export interface ApprovalAnswer extends ApprovalDecision {
  readonly expires_at: Date
  /** Milliseconds until it expires; negative afterwards. */
  readonly left_ms: number
  /** True when it has expired and the log does not have the event of that yet. */
  readonly is_unlogged: boolean
}

export interface ApprovalFilter {
  /** Lists only sessions of this owner; undefined lists all. */
  readonly owner: string | undefined
  readonly sessionId: string | undefined
  readonly agentId: string | undefined
  readonly state: ApprovalState | undefined
  /** True: only pending ones; false: all others; undefined: all. */
  readonly isOpen: boolean | undefined
  readonly order: 'asc' | 'desc'
  /** Last id of the previous page. */
  readonly cursor: string | undefined
  readonly limit: number
}

/** Tool calls of logged events that require approval. */
interface NewApprovals extends ApprovalPolicy {
  readonly eventIds: readonly string[]
}

interface Verdict extends ApprovalDecision {
  readonly by: string
}

type Row = Omit<Approval, 'decided_at' | 'expires_at' | 'created_at'> &
  Record<'expires_at' | 'created_at', Date> & { readonly decided_at: Date | null }

/** Treats an expired approval as such before the row is updated. */
const stateNow = `case when a.state = 'pending' and a.expires_at <= clock_timestamp() then 'expired' else a.state end`

const columns = `
  a.id, a.session_id, s.title as session_title, s.agent_id, a.tool_use_id, a.name, a.input, a.edited_input, a.digest, ${stateNow} as state, a.approvers,
  a.message, a.decided_by, a.decided_at, a.expires_at, a.created_at`

const toApproval = (row: Row): Approval => ({
  ...row,
  decided_at: row.decided_at?.toISOString() ?? null,
  expires_at: row.expires_at.toISOString(),
  created_at: row.created_at.toISOString(),
})

/** Table `approvals`: one row per tool call that requires approval. */
export type ApprovalStore = ReturnType<typeof approvalStore>

export function approvalStore(pool: Pool) {
  return {
    /**
     * Opens an approval for each of these logged tool calls and makes the running prompts wait for it. Existing ones
     * stay.
     */
    async open(on: Queryable, sessionId: string, { eventIds, approvers, expiresInMs }: NewApprovals): Promise<void> {
      const text = `
        with opened as (insert into approvals (id, session_id, tool_use_id, name, input, digest, approvers, expires_at)
        select id, session_id, payload ->> 'tool_use_id', called.name, payload -> 'input',
               encode(sha256(convert_to(called.name || chr(10) || (payload -> 'input')::text, 'utf8')), 'hex'),
               $3, clock_timestamp() + $4::float8 * interval '1 millisecond'
        from session_events
        cross join lateral (select concat(payload ->> 'mcp_server_name' || '__', payload ->> 'name') as name) called
        where session_id = $1 and id = any ($2) and type <> 'agent.custom_tool_use'
        on conflict (id) do nothing returning id, expires_at)
        insert into waits (prompt_id, kind, subject, session_id, until)
        select p.id, 'approval', opened.id, $1, opened.expires_at
        from opened cross join prompts p where p.session_id = $1 and p.state = 'running'
        on conflict do nothing`
      await on.query(text, [sessionId, eventIds, approvers, expiresInMs])
    },

    /** Returns the decision so far; undefined when the call requires no approval. */
    async answer(id: string): Promise<ApprovalAnswer | undefined> {
      const text = `
        select ${stateNow} as state, message, edited_input, expires_at,
               (extract(epoch from expires_at - clock_timestamp()) * 1000)::float8 as left_ms,
               a.state = 'pending' and a.expires_at <= clock_timestamp() as is_unlogged
        from approvals a where id = $1`
      const { rows } = await pool.query<ApprovalAnswer>({ name: 'approval_answer', text, values: [id] })
      return rows[0]
    },

    /** Marks an approval as expired. Returns false when it was decided or already marked. */
    async expire(on: Queryable, id: string): Promise<boolean> {
      const text = `
        with expired as (
          update approvals set state = 'expired'
          where id = $1 and state = 'pending' and expires_at <= clock_timestamp() returning session_id
        ), ended as (
          delete from waits using expired where waits.session_id = expired.session_id and kind = 'approval' and subject = $1
        )
        select from expired`
      return (await on.query(text, [id])).rowCount === 1
    },

    /** Returns an approval of a session by the id of its event or the runtime's id of the call. */
    async find(on: Queryable, sessionId: string, id: string): Promise<Approval | undefined> {
      const text = `
        select ${columns} from approvals a join sessions s on s.id = a.session_id
        where a.session_id = $1 and (a.id = $2 or a.tool_use_id = $2) order by a.id = $2 desc, a.id desc limit 1`
      const { rows } = await on.query<Row>(text, [sessionId, id])
      return rows[0] && toApproval(rows[0])
    },

    /** Returns the session of an approval that `owner` may see. */
    async sessionOf(id: string, owner: string | undefined): Promise<{ id: string; runtime: string } | undefined> {
      const text = `
        select s.id, s.runtime from approvals a join sessions s on s.id = a.session_id
        where a.id = $1 and ($2::text is null or s.owner_id = $2)`
      const { rows } = await pool.query<{ id: string; runtime: string }>(text, [id, owner])
      return rows[0]
    },

    /** Returns those of these approvals that can still be decided. */
    async pendingOf(ids: readonly string[]): Promise<(Approval & { readonly runtime: string })[]> {
      const text = `
        select ${columns}, s.runtime from approvals a join sessions s on s.id = a.session_id
        where a.id = any ($1) and ${stateNow} = 'pending' order by a.id`
      const { rows } = await pool.query<Row & { readonly runtime: string }>(text, [ids])
      return rows.map(row => ({ ...toApproval(row), runtime: row.runtime }))
    },

    /** Returns the number of approvals that wait, and the oldest of them. */
    async pending(owner: string | undefined, limit: number): Promise<{ pending: number; oldest: Approval[] }> {
      const text = `
        select ${columns}, count(*) over ()::int as pending from approvals a join sessions s on s.id = a.session_id
        where a.state = 'pending' and a.expires_at > clock_timestamp() and ($1::text is null or s.owner_id = $1)
        order by a.id limit $2`
      const { rows } = await pool.query<Row & { readonly pending: number }>(text, [owner, limit])
      return { pending: rows[0]?.pending ?? 0, oldest: rows.map(({ pending: _all, ...row }) => toApproval(row)) }
    },

    async list(filter: ApprovalFilter): Promise<Approval[]> {
      const { owner, sessionId, agentId, state, isOpen, order, cursor, limit } = filter
      const text = `
        select ${columns} from approvals a join sessions s on s.id = a.session_id
        where ($1::text is null or s.owner_id = $1) and ($2::text is null or a.session_id = $2)
          and ($3::text is null or ${stateNow} = $3) and ($4::text is null or a.id ${order === 'asc' ? '>' : '<'} $4)
          and ($6::text is null or s.agent_id = $6) and ($7::boolean is null or (${stateNow} = 'pending') = $7)
          ${isOpen || state === 'pending' ? `and a.state = 'pending'` : ''}
        order by a.id ${order} limit $5`
      const { rows } = await pool.query<Row>(text, [owner, sessionId, state, cursor, limit, agentId, isOpen])
      return rows.map(toApproval)
    },

    /** Decides a pending approval. Returns false when it is no longer pending. */
    async decide(on: Queryable, id: string, { state, message, edited_input, by }: Verdict): Promise<boolean> {
      const text = `
        with decided as (
          update approvals
          set state = $2, message = $3, decided_by = $4, edited_input = $5, decided_at = clock_timestamp()
          where id = $1 and state = 'pending' and expires_at > clock_timestamp() returning session_id
        ), ended as (
          delete from waits using decided where waits.session_id = decided.session_id and kind = 'approval' and subject = $1
        )
        select from decided`
      const { rowCount } = await on.query(text, [
        id,
        state,
        message,
        by,
        edited_input === undefined ? null : JSON.stringify(edited_input),
      ])
      return rowCount === 1
    },

    /** Uses up an allowed call. Returns true only the first time. */
    async spend(id: string): Promise<boolean> {
      const text = `
        update approvals set spent_at = clock_timestamp() where id = $1 and state = 'allowed' and spent_at is null`
      const { rowCount } = await pool.query(text, [id])
      return rowCount === 1
    },

    /** Closes pending approvals when the run or the session has ended. */
    async close(on: Queryable, sessionId: string): Promise<void> {
      const text = `
        with ended as (delete from waits where session_id = $1 and kind = 'approval')
        update approvals set state = case when expires_at <= clock_timestamp() then 'expired' else 'cancelled' end
        where session_id = $1 and state = 'pending'`
      await on.query({ name: 'close_approvals', text, values: [sessionId] })
    },
  }
}
