import type { Pool, PoolClient } from 'pg'
import type { SessionStatus } from '../../contract/session-status.ts'
import { hint } from '../db/hints.ts'
import type { MetadataMap } from '../platform/metadata.ts'
import type { ProviderRefs } from '../runtimes/runtime.ts'
import type { Lease, Queryable } from './log/event-store.ts'
import { eventsChannel } from './log/log-page.ts'
import { firstInLine } from './queue/prompt-store.ts'
import { type NewSession, type RunRow, runColumns, type SessionRow } from './session-row.ts'
import type { SessionFacts } from './status.ts'

/**
 * Notification channel on which the lease owner of a session rereads its row. The payload is the session id.
 */
export const controlChannel = 'session_control'

export interface SessionFilter {
  /** Lists only sessions of this owner; undefined lists all. */
  readonly owner: string | undefined
  readonly agentId: string | undefined
  /** Narrows the list further for callers who may see all. */
  readonly ownerId?: string | undefined
  /** Created at this time or later. */
  readonly from?: Date | undefined
  /** Created before this time. */
  readonly before?: Date | undefined
  readonly status: SessionStatus | undefined
  /** Part of the title, or the id. */
  readonly text?: string | undefined
  /** The session's metadata must contain all of these. */
  readonly metadata?: MetadataMap | undefined
  /** Lists only sessions that this one has started. */
  readonly parentId?: string | undefined
  readonly withDeleted: boolean
  /** Last id of the previous page. Ids are ordered by time, and lists run from newest to oldest. */
  readonly cursor: string | undefined
  readonly limit: number
}

/** What a reader of the log needs. */
export type SessionWithLog = Pick<SessionRow, 'id' | 'deleted_at'>

/** True while the session waits for sessions that it has called, and all of these ask a person or a client. */
const threadsAsk = `
  exists (select 1 from subagent_calls k where k.session_id = s.id and k.requests <> '{}' and k.is_idle_logged)`

const isStopped = `exists (select 1 from waits w where w.prompt_id = p.id and w.kind = 'budget')`

// No volatile functions: with one, PostgreSQL computes all rows before it takes a page of them.
const facts = `
  select ${runColumns}, s.agent, s.harness, s.sandbox_status, s.deleted_at, s.purged_at, s.forked_from_id, s.forked_from_seq, s.created_at, s.updated_at, s.last_outcome,
         coalesce((select m.metadata from session_metadata m where m.session_id = s.id), '{}') as metadata,
         (coalesce(s.lease_until > statement_timestamp(), false)
             or exists (select 1 from waits w where w.session_id = s.id and w.kind = 'subagent'))
           and exists (select 1 from prompts p where p.session_id = s.id and p.state = 'running') as is_running,
         (select count(*) from prompts p where p.session_id = s.id and p.state in ('waiting', 'running')) as unfinished,
         exists (select 1 from approvals a where a.session_id = s.id and a.state = 'pending')
           or exists (select 1 from waits w where w.session_id = s.id and w.kind = 'custom_tool')
           or ${threadsAsk} as awaits_answer,
         coalesce((${firstInLine(isStopped, 's.id')}), false) as paused
  from sessions s`

/** Conditions that an index answers, so that the exact status is computed for few sessions only. */
const candidates: Readonly<Record<SessionStatus, string>> = {
  running: `s.id in (select session_id from prompts where state = 'running')`,
  pending: `s.id in (select session_id from prompts where state in ('waiting', 'running'))`,
  error: `s.last_outcome = 'failed'`,
  idle: 'true',
}

const hasMetadata = 's.id in (select session_id from session_metadata where metadata @> $8::jsonb)'

const isChild = `s.ancestors <> '{}' and s.ancestors @> array[$9] and s.ancestors[1] = $9`

/** Tables `sessions` (without lease and log) and `session_metadata`. */
export type SessionStore = ReturnType<typeof sessionStore>

export function sessionStore(pool: Pool) {
  return {
    async insert(on: Queryable, session: NewSession): Promise<void> {
      const text = `
        insert into sessions
          (id, owner_id, title, agent, agent_id, agent_version, harness, runtime, environment, timezone,
           ancestors)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`
      const { id, owner_id, title, agent, agent_id, agent_version, harness, runtime, environment, timezone } = session
      const values = [id, owner_id, title, agent, agent_id, agent_version, harness, runtime]
      await on.query({
        name: 'insert_session',
        text,
        values: [...values, JSON.stringify(environment), timezone, session.ancestors],
      })
      hint(on, eventsChannel, `${id} 0 1 ${owner_id}`)
    },

    /** Returns the session, deleted or not; undefined when `owner` has none with that id. */
    async find(id: string, owner?: string, on: Queryable = pool): Promise<SessionRow | undefined> {
      const { rows } = await on.query<SessionRow>({
        name: 'find_session',
        text: `${facts} where s.id = $1 and ($2::text is null or s.owner_id = $2)`,
        values: [id, owner],
      })
      return rows[0]
    },

    /** Returns the session while its log is readable; undefined when `owner` has none with that id. */
    async withLog(id: string, owner?: string): Promise<SessionWithLog | undefined> {
      const text = `
        select id, deleted_at from sessions
        where id = $1 and ($2::text is null or owner_id = $2) and purged_at is null`
      return (await pool.query<SessionWithLog>({ name: 'session_with_log', text, values: [id, owner] })).rows[0]
    },

    /** Returns what a run needs; undefined when the session does not exist. */
    async ofRun(id: string): Promise<RunRow | undefined> {
      const text = `select ${runColumns} from sessions s where id = $1`
      return (await pool.query<RunRow>({ name: 'session_of_run', text, values: [id] })).rows[0]
    },

    /** Returns those of the given sessions that belong to `owner` and are not deleted. */
    async among(ids: readonly string[], owner?: string): Promise<SessionRow[]> {
      const text = `
        ${facts} where s.id = any ($1) and ($2::text is null or s.owner_id = $2) and s.deleted_at is null`
      return (await pool.query<SessionRow>(text, [ids, owner])).rows
    },

    /** Returns the newest session of each of these agents that is not deleted. */
    async lastOf(agentIds: readonly string[]): Promise<SessionRow[]> {
      const text = `
        ${facts} where s.id in (
          select newest.id from unnest($1::text[]) as agent (id)
          cross join lateral (
            select n.id from sessions n where n.agent_id = agent.id and n.deleted_at is null order by n.id desc limit 1
          ) newest)`
      return (await pool.query<SessionRow>(text, [agentIds])).rows
    },

    /** Locks the session until the end of the transaction. Returns undefined when it does not exist. */
    async lock(on: Queryable, id: string): Promise<{ next_position: number; deleted_at: Date | null } | undefined> {
      const text = 'select next_position, deleted_at from sessions where id = $1 for update'
      const { rows } = await on.query<{ next_position: number; deleted_at: Date | null }>({
        name: 'lock_session',
        text,
        values: [id],
      })
      return rows[0]
    },

    /** Reports whether the fence of the lease is the current one, and the session is not deleted. */
    async holds(on: Queryable, { sessionId, fence }: Lease): Promise<boolean> {
      const text = 'select from sessions where id = $1 and fence = $2 and deleted_at is null'
      return (await on.query(text, [sessionId, fence])).rowCount === 1
    },

    /** Recomputes when a process may acquire the session; `taken` is the number of queue positions that were used. */
    async setDue(on: Queryable, id: string, taken = 0): Promise<void> {
      const text = 'update sessions set next_position = next_position + $2, due_at = session_due(id) where id = $1'
      await on.query({ name: 'set_due', text, values: [id, taken] })
    },

    async list({
      owner,
      agentId,
      status,
      text: part,
      metadata,
      parentId,
      withDeleted,
      cursor,
      limit,
      ownerId,
      from,
      before,
    }: SessionFilter): Promise<SessionRow[]> {
      const text = `
        with s as (${facts}
          where ($1::text is null or s.owner_id = $1) and ($2::text is null or s.agent_id = $2)
            and ($3 or s.deleted_at is null) and ($10::text is null or s.owner_id = $10)
            and ($11::timestamptz is null or s.created_at >= $11) and ($12::timestamptz is null or s.created_at < $12)
            and ($4::text is null or s.id < $4)
            and ($7::text is null or s.id = $7 or strpos(lower(s.title), lower($7)) > 0)
            and ${parentId === undefined ? '$9::text is null' : isChild}
            and ${metadata === undefined ? '$8::text is null' : hasMetadata} and ${status === undefined ? 'true' : candidates[status]})
        select * from s
        where $5::text is null or $5 = case
          when is_running and not awaits_answer then 'running' when is_running then 'idle' when unfinished > 0 then 'pending'
          when last_outcome = 'failed' then 'error' else 'idle'
        end
        order by id desc limit $6`
      const wanted = metadata && JSON.stringify(metadata)
      const values = [owner, agentId, withDeleted, cursor, status, limit, part, wanted, parentId, ownerId, from, before]
      const { rows } = await pool.query<SessionRow>(text, values)
      return rows
    },

    /** Stores how the run ended; null when it paused. Returns false when a later fence owns the session. */
    async setOutcome(
      on: Queryable,
      { sessionId, fence }: Lease,
      outcome: SessionFacts['lastOutcome'],
    ): Promise<boolean> {
      const text = `update sessions set last_outcome = $3 where id = $1 and fence = $2 and deleted_at is null`
      const { rowCount } = await on.query({ name: 'set_outcome', text, values: [sessionId, fence, outcome] })
      return rowCount === 1
    },

    /** Stores the given provider ids and keeps the others. Returns false when a later fence owns the session. */
    async storeRefs(
      on: Queryable | undefined,
      { sessionId, fence }: Lease,
      refs: Partial<ProviderRefs>,
    ): Promise<boolean> {
      const text = `
        update sessions
        set runtime_agent_ref_id = case when $3::jsonb ? 'runtime_agent_ref_id' then $3::jsonb ->> 'runtime_agent_ref_id' else runtime_agent_ref_id end,
            provider_session_id = case when $3::jsonb ? 'provider_session_id' then $3::jsonb ->> 'provider_session_id' else provider_session_id end,
            provider_run_id = case when $3::jsonb ? 'provider_run_id' then $3::jsonb ->> 'provider_run_id' else provider_run_id end,
            runtime_state = coalesce($4::json, runtime_state),
            repository = coalesce($5::json, repository)
        where id = $1 and fence = $2 and deleted_at is null`
      const { runtime_state, repository, ...ids } = refs
      const [state, cloned] = [runtime_state, repository].map(value => (value ? JSON.stringify(value) : null))
      const { rowCount } = await (on ?? pool).query(text, [sessionId, fence, JSON.stringify(ids), state, cloned])
      return rowCount === 1
    },

    /** Marks the sandbox as running until the owner releases the session, and records the data folder. */
    async markSandboxRunning(id: string, dataFolder?: string): Promise<void> {
      const text = `
        update sessions set sandbox_status = 'running', data_folder = coalesce($2, data_folder)
        where id = $1 and sandbox_status <> 'dead' and lease_until > clock_timestamp()`
      await pool.query(text, [id, dataFolder])
    },

    async setDataFolder(on: Queryable, { sessionId, fence }: Lease, dataFolder: string): Promise<void> {
      const text = 'update sessions set data_folder = $3 where id = $1 and fence = $2'
      await on.query(text, [sessionId, fence, dataFolder])
    },

    /** True while a process has a lease on the session, or one of its prompts runs. */
    async isBusy(on: PoolClient, id: string): Promise<boolean> {
      const text = `
        select coalesce(lease_owner is not null and lease_until > clock_timestamp(), false)
          or exists (select from prompts p where p.session_id = s.id and p.state = 'running') as is_at_work
        from sessions s where id = $1`
      return (await on.query<{ is_at_work: boolean }>(text, [id])).rows[0]?.is_at_work ?? false
    },

    /** Replaces the metadata of the session. */
    async setMetadata(on: PoolClient, id: string, metadata: MetadataMap): Promise<void> {
      const text = `
        insert into session_metadata (session_id, metadata) values ($1, $2)
        on conflict (session_id) do update set metadata = excluded.metadata`
      await on.query(text, [id, JSON.stringify(metadata)])
    },

    async rename(on: PoolClient, id: string, title: string): Promise<void> {
      await on.query('update sessions set title = $2 where id = $1', [id, title])
    },

    /** Marks the row as deleted and invalidates the fence of its owner. */
    async markDeleted(on: PoolClient, id: string): Promise<void> {
      const text = `
        update sessions
        set deleted_at = clock_timestamp(), sandbox_status = 'dead', fence = fence + 1, lease_owner = null, lease_until = null
        where id = $1`
      await on.query(text, [id])
    },

    /** Notifies the owner of the session, in any process, to reread its row. */
    notifyOwner: (on: Queryable, id: string): void => hint(on, controlChannel, id),

    /** Returns the sessions below this one that are not deleted, from the top down. */
    async descendants(on: Queryable, id: string): Promise<string[]> {
      const text = `
        select id from sessions where ancestors <> '{}' and ancestors @> array[$1] and deleted_at is null
        order by cardinality(ancestors), id`
      return (await on.query<{ id: string }>(text, [id])).rows.map(({ id }) => id)
    },

    /** Returns those of the given sessions that are deleted or never existed. */
    async deletedAmong(ids: readonly string[]): Promise<string[]> {
      const text = `
        select given.id from unnest($1::text[]) as given (id)
        left join sessions s on s.id = given.id where s.id is null or s.deleted_at is not null`
      const { rows } = await pool.query<{ id: string }>(text, [ids])
      return rows.map(({ id }) => id)
    },
  }
}
