import type { Pool } from 'pg'
import type { CustomToolCall, CustomToolCallState } from '../../../contract/custom-tools.ts'
import type { CustomToolEnd } from '../../tools/custom-tools.ts'
import type { ToolResult } from '../../tools/tool.ts'
import type { Queryable } from '../log/event-store.ts'

export interface CustomToolFilter {
  /** Lists only sessions of this owner; undefined lists all. */
  readonly owner: string | undefined
  readonly sessionId: string | undefined
  readonly state: CustomToolCallState | undefined
  /** Last id of the previous page; the newest come first. */
  readonly cursor: string | undefined
  readonly limit: number
}

interface Answer {
  /** As records show it: the event has the content of files. */
  readonly content: NonNullable<CustomToolCall['content']>
  readonly isError: boolean
  /** Id of the event with the answer. */
  readonly eventId: string
  readonly by: string
}

/** A call with the id of the event that answered it. */
export type StoredCall = CustomToolCall & { readonly answer_id: string | null }

type Row = Omit<StoredCall, 'answered_at' | 'expires_at' | 'created_at'> &
  Record<'expires_at' | 'created_at', Date> & { readonly answered_at: Date | null }

/** A call ends with its prompt, without an update of its row. */
const stateNow = `
  case when c.state <> 'pending' then c.state
       when not exists (select from prompts p where p.id = c.prompt_id and p.state in ('waiting', 'running') and not p.stop_requested)
         then 'cancelled'
       when c.expires_at <= clock_timestamp() then 'expired' else 'pending' end`

const columns = `
  c.id, c.session_id, s.agent_id, c.tool_use_id, c.name, c.input, ${stateNow} as state, c.content, c.is_error, c.answer_id,
  c.answered_by, c.answered_at, c.expires_at, c.created_at`

const toCall = (row: Row): StoredCall => ({
  ...row,
  answered_at: row.answered_at?.toISOString() ?? null,
  expires_at: row.expires_at.toISOString(),
  created_at: row.created_at.toISOString(),
})

/** Table `custom_tool_calls`: one row per call of a tool that a client runs. */
export type CustomToolStore = ReturnType<typeof customToolStore>

export function customToolStore(pool: Pool) {
  return {
    /** Opens the calls of these logged events. From now on clients may answer them. Existing ones stay. */
    async open(on: Queryable, sessionId: string, eventIds: readonly string[], promptId: string): Promise<void> {
      const text = `
        insert into custom_tool_calls (id, session_id, prompt_id, tool_use_id, name, input, expires_at)
        select id, session_id, $3, payload ->> 'tool_use_id', payload ->> 'name', payload -> 'input',
               clock_timestamp() + (payload ->> 'timeout_seconds')::integer * interval '1 second'
        from session_events where session_id = $1 and id = any ($2)
        on conflict (id) do nothing`
      await on.query(text, [sessionId, eventIds, promptId])
    },

    /** Makes the running prompts wait for those of these calls that have no answer yet. */
    async await(on: Queryable, sessionId: string, eventIds: readonly string[]): Promise<void> {
      const text = `
        insert into waits (prompt_id, kind, subject, session_id, until)
        select p.id, 'custom_tool', c.id, $1, c.expires_at
        from custom_tool_calls c cross join prompts p
        where c.session_id = $1 and c.id = any ($2) and c.state = 'pending' and p.session_id = $1 and p.state = 'running'
        on conflict do nothing`
      await on.query(text, [sessionId, eventIds])
    },

    /**
     * Returns how a call ended; undefined while it waits. Records the end of the time to answer: no answer is accepted
     * after it was returned.
     */
    async end(id: string): Promise<CustomToolEnd | undefined> {
      const expire = `
        update custom_tool_calls set state = 'expired'
        where id = $1 and state = 'pending' and expires_at <= clock_timestamp()`
      await pool.query({ name: 'expire_custom_tool_call', text: expire, values: [id] })
      const text = `
        select ${stateNow} as state, e.payload as answer, c.is_error
        from custom_tool_calls c left join lateral (
          select payload from session_events where session_id = c.session_id and id = c.answer_id order by seq desc limit 1
        ) e on true
        where c.id = $1`
      const { rows } = await pool.query<EndRow>({ name: 'custom_tool_end', text, values: [id] })
      if (!rows[0]) throw new Error(`event ${id} is not a custom tool call, but a run waits for it (bug)`)
      const { state, answer, is_error } = rows[0]
      // One that has expired since the update waits until the next reading.
      if (state === 'pending') return undefined
      return state === 'answered' ? { state, content: answer?.content ?? [], is_error: is_error ?? false } : { state }
    },

    /** Returns a call of a session by the id of its event or the runtime's id of the call. */
    async find(on: Queryable, sessionId: string, id: string): Promise<StoredCall | undefined> {
      const text = `
        select ${columns} from custom_tool_calls c join sessions s on s.id = c.session_id
        where c.session_id = $1 and (c.id = $2 or c.tool_use_id = $2) order by c.id = $2 desc, c.id desc limit 1`
      const { rows } = await on.query<Row>(text, [sessionId, id])
      return rows[0] && toCall(rows[0])
    },

    /** Returns the session of a call that `owner` may see. */
    async sessionOf(id: string, owner: string | undefined): Promise<string | undefined> {
      const text = `
        select c.session_id from custom_tool_calls c join sessions s on s.id = c.session_id
        where c.id = $1 and ($2::text is null or s.owner_id = $2)`
      const { rows } = await pool.query<{ session_id: string }>(text, [id, owner])
      return rows[0]?.session_id
    },

    async list({ owner, sessionId, state, cursor, limit }: CustomToolFilter): Promise<StoredCall[]> {
      const text = `
        select ${columns} from custom_tool_calls c join sessions s on s.id = c.session_id
        where ($1::text is null or s.owner_id = $1) and ($2::text is null or c.session_id = $2)
          and ($3::text is null or ${stateNow} = $3) and ($4::text is null or c.id < $4)
        order by c.id desc limit $5`
      const { rows } = await pool.query<Row>(text, [owner, sessionId, state, cursor, limit])
      return rows.map(toCall)
    },

    /** Stores the answer to a pending call and ends its wait. Returns false when it is no longer pending. */
    async answer(on: Queryable, id: string, { content, isError, eventId, by }: Answer): Promise<boolean> {
      const text = `
        with answered as (
          update custom_tool_calls c
          set state = 'answered', content = $2, is_error = $3, answer_id = $4, answered_by = $5, answered_at = clock_timestamp()
          where id = $1 and ${stateNow} = 'pending' returning session_id
        ), ended as (
          delete from waits using answered
          where waits.session_id = answered.session_id and kind = 'custom_tool' and subject = $1
        )
        select from answered`
      const { rowCount } = await on.query(text, [id, JSON.stringify(content), isError, eventId, by])
      return rowCount === 1
    },
  }
}

interface EndRow extends Pick<CustomToolCall, 'is_error'> {
  readonly state: CustomToolCallState
  /** The event with the answer. */
  readonly answer: Pick<ToolResult, 'content'> | null
}
