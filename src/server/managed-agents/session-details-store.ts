import type { Pool, PoolClient } from 'pg'
import type { StoredOutcome } from '../../contract/outcomes.ts'
import type { CreatedRange } from '../http/created-range.ts'
import type { FileResource } from './resources/file-resource-store.ts'

/** Fields of a session in the dialect that its record does not have. */
export interface SessionDetails {
  readonly session_id: string
  readonly environment_id: string
  readonly is_untitled: boolean
  readonly vault_ids: readonly string[]
  readonly deployment_id: string | null
  readonly archived_at: Date | null
  readonly updated_at: Date
  readonly active_seconds: number
  readonly duration_seconds: number
  /** US dollars as an exact decimal; null without a limit. */
  readonly max_usd: string | null
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cache_read_tokens: number
  readonly cache_write_5m_tokens: number
  readonly cache_write_1h_tokens: number
  readonly web_searches: number
  /** US cents, rounded up; null while no call has a price. */
  readonly cost_cents: string | null
  readonly files: readonly FileResource[]
  readonly memory_stores: readonly SessionMemoryStore[]
  /** In the order of their prompts. */
  readonly outcomes: readonly StoredOutcome[]
}

/** A memory store of a session. */
export interface SessionMemoryStore {
  readonly id: string
  readonly store_id: string
  readonly access: 'read_write' | 'read_only'
  readonly name: string
  readonly description: string
  readonly instructions: string | null
  readonly mount_path: string
  readonly created_at: Date
}

/** Stored fields of a session in the dialect. */
export interface DialectFields {
  readonly environment_id: string
  readonly is_untitled: boolean
  readonly vault_ids: readonly string[]
  /** Deployment that created the session. */
  readonly deployment_id: string | null
}

export interface SessionQuery extends CreatedRange {
  /** Lists only sessions of this owner; undefined lists all. */
  readonly owner: string | undefined
  readonly agentId: string | undefined
  readonly agentVersion: number | undefined
  readonly deploymentId: string | undefined
  readonly archived: 'without' | 'with' | 'only'
  /** Lists only sessions with unfinished prompts. */
  readonly onlyBusy: boolean
  readonly order: 'asc' | 'desc'
  /** Last id of the previous page. */
  readonly after: string | undefined
  readonly limit: number
}

const detailsText = `
  select s.id as session_id, coalesce(d.environment_id, '') as environment_id, coalesce(d.is_untitled, false) as is_untitled,
         coalesce(d.vault_ids, '{}') as vault_ids, d.deployment_id, d.archived_at,
         greatest(s.updated_at, d.updated_at) as updated_at, b.max_usd, used.*, work.active_seconds,
         extract(epoch from coalesce(d.archived_at, clock_timestamp()) - s.created_at)::float8 as duration_seconds
  from sessions s
  left join dialect_sessions d on d.session_id = s.id
  left join budgets b on b.scope = 'session' and b.scope_id = s.id
  cross join lateral (
    select coalesce(sum(extract(epoch from coalesce(p.ended_at, clock_timestamp()) - p.started_at)), 0)::float8 as active_seconds
    from prompts p
    where p.session_id = s.id and p.started_at is not null and (p.state = 'running' or p.ended_at is not null)
  ) work
  cross join lateral (
    select coalesce(sum(u.input_tokens), 0)::int8 as input_tokens,
           coalesce(sum(u.output_tokens), 0)::int8 as output_tokens,
           coalesce(sum(u.cache_read_tokens), 0)::int8 as cache_read_tokens,
           coalesce(sum(u.cache_write_5m_tokens), 0)::int8 as cache_write_5m_tokens,
           coalesce(sum(u.cache_write_1h_tokens), 0)::int8 as cache_write_1h_tokens,
           coalesce(sum(u.web_searches), 0)::int8 as web_searches,
           ceil(sum(u.cost_usd) * 100)::text as cost_cents
    from usage u where u.session_id = s.id
  ) used
  where s.id = any ($1)`

const listText = (order: 'asc' | 'desc') => `
  select s.id from sessions s left join dialect_sessions d on d.session_id = s.id
  where s.deleted_at is null and ($1::text is null or s.owner_id = $1) and ($2::text is null or s.agent_id = $2)
    and ($3::int is null or s.agent_version = $3)
    and ($4::timestamptz is null or s.created_at >= $4) and ($5::timestamptz is null or s.created_at < $5)
    and ($6 = 'with' or ($6 = 'only') = (d.archived_at is not null))
    and (not $7 or exists (select from prompts p where p.session_id = s.id and p.state in ('waiting', 'running')))
    and ($8::text is null or s.id ${order === 'desc' ? '<' : '>'} $8) and ($9::text is null or d.deployment_id = $9)
  order by s.id ${order} limit $10`

const insertText = `
  insert into dialect_sessions (session_id, environment_id, is_untitled, vault_ids, deployment_id)
  values ($1, $2, $3, $4, $5)`

/** A session that the dialect has never written has no row yet. */
const changeText = `
  insert into dialect_sessions (session_id, is_untitled) values ($1, coalesce($2::boolean, false))
  on conflict (session_id) do update
  set is_untitled = coalesce($2::boolean, dialect_sessions.is_untitled), updated_at = clock_timestamp()`
const archiveText = `
  insert into dialect_sessions (session_id, archived_at) values ($1, clock_timestamp())
  on conflict (session_id) do update
  set archived_at = coalesce(dialect_sessions.archived_at, excluded.archived_at), updated_at = clock_timestamp()`

const outcomesText = `
  select session_id, outcome, outcome_state, state, ended_at from prompts
  where session_id = any ($1) and outcome is not null order by position, id`

const filesText = `
  select session_id, id, file_id, mount_path, created_at from session_file_resources
  where session_id = any ($1) order by id`

const storesText = `
  select session_id, id, store_id, access, name, description, instructions, mount_path, created_at
  from session_memory_stores where session_id = any ($1) order by id`

/** Returns the rows of a query by the session that they belong to. */
async function bySession<Row>(on: Pick<Pool, 'query'>, text: string, ids: readonly string[]) {
  const { rows } = await on.query<Row & { readonly session_id: string }>(text, [ids])
  return Map.groupBy(rows, ({ session_id }) => session_id)
}

/** Table `dialect_sessions`, and rows of other tables per session. */
export type SessionDetailsStore = ReturnType<typeof sessionDetailsStore>

export function sessionDetailsStore(pool: Pool) {
  return {
    /** Returns the details by session id. */
    async of(ids: readonly string[], on: Pick<Pool, 'query'> = pool): Promise<ReadonlyMap<string, SessionDetails>> {
      if (ids.length === 0) return new Map()
      const { rows } = await on.query<Omit<SessionDetails, 'outcomes' | 'files' | 'memory_stores'>>(detailsText, [ids])
      const outcomes = await bySession<StoredOutcome>(on, outcomesText, ids)
      const files = await bySession<FileResource>(on, filesText, ids)
      const stores = await bySession<SessionMemoryStore>(on, storesText, ids)
      const details = rows.map(row => ({
        ...row,
        outcomes: outcomes.get(row.session_id) ?? [],
        files: files.get(row.session_id) ?? [],
        memory_stores: stores.get(row.session_id) ?? [],
      }))
      return new Map(details.map(row => [row.session_id, row]))
    },

    /** Returns ids in order. `onlyBusy` only preselects: the exact status is computed by the rules of sessions. */
    async ids(query: SessionQuery): Promise<string[]> {
      const { owner, agentId, agentVersion, from, before, archived, onlyBusy, after, deploymentId, limit } = query
      const values = [owner, agentId, agentVersion, from, before, archived, onlyBusy, after, deploymentId, limit]
      return (await pool.query<{ id: string }>(listText(query.order), values)).rows.map(({ id }) => id)
    },

    /** Returns the ids of a session and of the sessions below it that are not deleted, oldest first. */
    async threadIds(sessionId: string, { after, limit }: Pick<SessionQuery, 'after' | 'limit'>): Promise<string[]> {
      const text = `
        select id from sessions
        where (id = $1 or (ancestors <> '{}' and ancestors @> array[$1])) and deleted_at is null
          and ($2::text is null or id > $2)
        order by id limit $3`
      return (await pool.query<{ id: string }>(text, [sessionId, after, limit])).rows.map(({ id }) => id)
    },

    async insert(on: PoolClient, id: string, fields: DialectFields): Promise<void> {
      await on.query(insertText, [
        id,
        fields.environment_id,
        fields.is_untitled,
        fields.vault_ids,
        fields.deployment_id,
      ])
    },

    /** Records that the session was changed, and whether it has a title, if that changed. */
    async change(on: PoolClient, id: string, isUntitled: boolean | undefined): Promise<void> {
      await on.query(changeText, [id, isUntitled ?? null])
    },

    async archive(on: PoolClient, id: string): Promise<void> {
      await on.query(archiveText, [id])
    },
  }
}
