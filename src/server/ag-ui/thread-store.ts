import type { Pool, PoolClient } from 'pg'
import type { Json } from '../platform/json.ts'
import type { FrontEndRun } from './run-reading.ts'

type Queryable = Pool | PoolClient

/** Names a thread: those of one principal are never those of another. */
export interface ThreadName {
  readonly principal: string
  readonly agentId: string
  readonly threadId: string
}

/** What the front-end gives to the model. */
interface StoredFrontEnd {
  readonly tools: readonly Json[]
  readonly text: string
}

/** What the front-end has sent with its last input. */
export interface ThreadContent {
  readonly front_end: StoredFrontEnd
  /** Null: none. */
  readonly state: unknown
}

export interface StoredRun extends FrontEndRun {
  readonly session_id: string
  readonly input_hash: Buffer
  /** The run begins after this event. */
  readonly after_seq: number
  /** Of its input; null: none. */
  readonly state: unknown
}

interface NewRun extends StoredRun {
  readonly message_ids: readonly string[]
}

const columns = 'r.session_id, t.thread_id, r.run_id, r.input_hash, r.prompt_ids, r.after_seq, r.state'
const from = 'ag_ui_runs r join ag_ui_threads t on t.session_id = r.session_id'

/** Tables `ag_ui_threads` and `ag_ui_runs`. */
export type ThreadStore = ReturnType<typeof threadStore>

export function threadStore(pool: Pool) {
  return {
    /** Returns the session of a thread; undefined when there is none, or it was deleted. */
    async sessionOf({ principal, agentId, threadId }: ThreadName): Promise<string | undefined> {
      const text = `
        select s.id from ag_ui_threads t join sessions s on s.id = t.session_id
        where t.principal = $1 and t.agent_id = $2 and t.thread_id = $3 and s.deleted_at is null`
      return (await pool.query<{ id: string }>(text, [principal, agentId, threadId])).rows[0]?.id
    },

    /** Stores the session of a thread in place of a deleted one. Returns false when the thread already has a session. */
    async add(on: Queryable, sessionId: string, { principal, agentId, threadId }: ThreadName): Promise<boolean> {
      const text = `
        insert into ag_ui_threads as t (session_id, principal, agent_id, thread_id) values ($1, $2, $3, $4)
        on conflict (principal, agent_id, thread_id) do update set session_id = excluded.session_id
        where exists (select from sessions s where s.id = t.session_id and s.deleted_at is not null)`
      return (await on.query(text, [sessionId, principal, agentId, threadId])).rowCount === 1
    },

    /** Returns what the front-end gives to a session; undefined for a session without one. */
    async content(sessionId: string): Promise<ThreadContent | undefined> {
      const text = 'select front_end, state from ag_ui_threads where session_id = $1'
      return (await pool.query<ThreadContent>({ name: 'front_end_of', text, values: [sessionId] })).rows[0]
    },

    /** True when a run of the thread has sent the prompt. */
    async hasSent(sessionId: string, promptId: string): Promise<boolean> {
      const text = 'select from ag_ui_runs where session_id = $1 and $2 = any (prompt_ids) limit 1'
      return (await pool.query({ name: 'front_end_sent', text, values: [sessionId, promptId] })).rowCount === 1
    },

    async setContent(on: Queryable, sessionId: string, { front_end, state }: ThreadContent): Promise<void> {
      const text = 'update ag_ui_threads set front_end = $2, state = $3 where session_id = $1'
      await on.query(text, [sessionId, JSON.stringify(front_end), jsonOf(state)])
    },

    /** Returns the state, and blocks other writers until the transaction ends. */
    async lockState(on: PoolClient, sessionId: string): Promise<unknown> {
      const text = 'select state from ag_ui_threads where session_id = $1 for update'
      return (await on.query<{ state: unknown }>(text, [sessionId])).rows[0]?.state
    },

    async setState(on: PoolClient, sessionId: string, state: unknown): Promise<void> {
      await on.query('update ag_ui_threads set state = $2 where session_id = $1', [sessionId, jsonOf(state)])
    },

    async run(sessionId: string, runId: string): Promise<StoredRun | undefined> {
      const text = `select ${columns} from ${from} where r.session_id = $1 and r.run_id = $2`
      return (await pool.query<StoredRun>(text, [sessionId, runId])).rows[0]
    },

    /** Returns the newest run of a thread. */
    async lastRun(sessionId: string): Promise<StoredRun | undefined> {
      const text = `select ${columns} from ${from} where r.session_id = $1 order by r.position desc limit 1`
      return (await pool.query<StoredRun>(text, [sessionId])).rows[0]
    },

    /** Returns those of the messages that runs of the thread have sent. */
    async knownMessages(sessionId: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
      const text = `
        select distinct id from ag_ui_runs r cross join unnest(r.message_ids) as id
        where r.session_id = $1 and id = any ($2)`
      const { rows } = await pool.query<{ id: string }>(text, [sessionId, ids])
      return new Set(rows.map(({ id }) => id))
    },

    /** Returns those of the ids that are events of the session. */
    async storedEvents(sessionId: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
      const text = 'select id from session_events where session_id = $1 and id = any ($2)'
      const { rows } = await pool.query<{ id: string }>(text, [sessionId, ids])
      return new Set(rows.map(({ id }) => id))
    },

    /** Stores a run. Returns false when the thread has a run with that id, or one that has sent one of the messages. */
    async addRun(on: Queryable, run: NewRun): Promise<boolean> {
      const text = `
        insert into ag_ui_runs (session_id, run_id, input_hash, prompt_ids, message_ids, after_seq, state)
        select $1, $2, $3, $4, $5, $6, $7
        where not exists (select from ag_ui_runs where session_id = $1 and message_ids && $5::text[])
        on conflict (session_id, run_id) do nothing`
      const { session_id, run_id, input_hash, prompt_ids, message_ids, after_seq, state } = run
      const values = [session_id, run_id, input_hash, prompt_ids, message_ids, after_seq, jsonOf(state)]
      return (await on.query(text, values)).rowCount === 1
    },
  }
}

/** Returns a value as the text of a `json` column; null for none. */
const jsonOf = (value: unknown): string | null => (value === undefined || value === null ? null : JSON.stringify(value))
