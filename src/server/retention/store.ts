import type { Pool, PoolClient } from 'pg'

/** A deleted session whose grace period has ended. */
export interface PurgedSession {
  readonly id: string
  readonly agent_id: string
  /** False: its runtime did not release it. */
  readonly is_disposed: boolean
}

/** Maximum rows per statement, so that a delete does not block other work. */
const batchRows = 1_000

const age = (parameter: string) => `clock_timestamp() - ${parameter}::float8 * interval '1 millisecond'`

/** Advisory lock of the replica that runs the cleanup. */
const cleanupLock = 7252

/** Deletes one batch of matching rows, oldest first. Locked rows are skipped until the next sweep. */
const oldest = (table: string, id: string, time: string, besides = 'true') => `
  delete from ${table} where ${id} = any (array(
    select ${id} from ${table} where ${time} < ${age('$1')} and ${besides}
    order by ${time} limit ${batchRows} for update skip locked))`

const refsOf = (blob: string) =>
  `select from workspace_refs r where r.owner_id = ${blob}.owner_id and r.hash = ${blob}.hash`

/** Deletes one batch of files, oldest first. A later statement deletes their content. */
const oldestFiles = (time: string) => `
  with gone as (${oldest('files', 'id', time)} returning id),
  discarded as (update workspace_blobs b set loose_since = '-infinity' from gone where b.owner_id = gone.id)
  select from gone`

/** Lines go before their batch: a statement that deletes a batch with 100,000 lines would block other work. */
const hasNoLine = 'not exists (select from batch_lines l where l.batch_id = batches.id)'

/** Deletes lines of batches whose `time` is older. */
const linesOfOldest = (time: string) => `
  delete from batch_lines where ctid = any (array(
    select l.ctid from batches b join batch_lines l on l.batch_id = b.id where b.${time} < ${age('$1')}
    limit ${batchRows} for update of l skip locked))`

/** Statements that delete rows by age. */
const byAge = {
  deliveries: oldest(
    'webhook_deliveries',
    'id',
    'received_at',
    `(status <> 'processing' or claimed_until < clock_timestamp())`,
  ),
  endpoint_deliveries: oldest('webhook_endpoint_deliveries', 'id', 'created_at', `state <> 'pending'`),
  webhook_counts: oldest('webhook_counts', 'ctid', 'hour'),
  webhook_replies: oldest('webhook_replies', 'id', 'created_at', `state <> 'pending'`),
  webhook_reply_targets: oldest('webhook_reply_targets', 'prompt_id', 'created_at', 'not is_open'),
  idempotency_keys: oldest('idempotency_keys', 'ctid', 'created_at'),
  stream_tickets: oldest('stream_tickets', 'hash', 'expires_at'),
  responses: oldest('responses', 'ctid', 'expires_at'),
  response_cache: oldest('response_cache', 'ctid', 'expires_at'),
  mcp_calls: oldest('mcp_calls', 'id', 'created_at'),
  tool_calls: oldest('tool_calls', 'id', 'created_at'),
  mcp_authorizations: oldest('mcp_authorizations', 'state_hash', 'expires_at'),
  batch_lines: linesOfOldest('ended_at'),
  deleted_batch_lines: linesOfOldest('deleted_at'),
  batches: oldest('batches', 'id', 'ended_at', hasNoLine),
  deleted_batches: oldest('batches', 'id', 'deleted_at', hasNoLine),
  files: oldestFiles('created_at'),
  expired_files: oldestFiles('expires_at'),
  call_bodies: oldest('call_bodies', 'request_id', 'created_at'),
  ledger: oldest('usage', 'id', 'created_at'),
  audit: oldest('audit_log', 'id', 'created_at'),
  // Results go with their experiment.
  experiments: `
    with ended as (
      delete from experiments where id = any (array(
        select id from experiments where ended_at < ${age('$1')} order by ended_at limit ${batchRows} for update skip locked))
      returning id
    ), limits as (
      delete from budgets b using ended where b.scope = 'session' and b.scope_id = ended.id
    )
    select from ended`,
  // Chunks that a session references again are kept. Returns one row per examined chunk.
  workspace_blobs: `
    with loose as (
      select owner_id, hash from workspace_blobs where loose_since < ${age('$1')}
      order by loose_since limit ${batchRows} for update skip locked
    ), needed as (
      update workspace_blobs b set loose_since = null from loose l
      where b.owner_id = l.owner_id and b.hash = l.hash and exists (${refsOf('l')})
    ), unneeded as (
      delete from workspace_blobs b using loose l
      where b.owner_id = l.owner_id and b.hash = l.hash and not exists (${refsOf('l')})
      returning object_key
    ), objects as (
      insert into workspace_objects (object_key, delete_after)
      select object_key, clock_timestamp() from unneeded where object_key is not null
    )
    select from loose`,
} as const

export type AgedTable = keyof typeof byAge

/** Deletes everything of a session except its events. The ledger and the audit log keep its id. */
const ofSession = [
  'delete from prompts where session_id = $1',
  'delete from approvals where session_id = $1',
  'delete from custom_tool_calls where session_id = $1',
  'delete from subagent_calls where session_id = $1',
  'delete from stream_tickets where session_id = $1',
  'delete from workspace_checkpoints where session_id = $1',
  'delete from session_files where session_id = $1',
  'delete from session_memories where session_id = $1',
  'delete from session_memory_stores where session_id = $1',
  'delete from session_file_resources where session_id = $1',
  'delete from dialect_sessions where session_id = $1',
  'delete from session_metadata where session_id = $1',
  'delete from webhook_cursors where session_id = $1',
  'delete from a2a_push_configs where session_id = $1',
  'delete from ag_ui_runs where session_id = $1',
  'delete from ag_ui_threads where session_id = $1',
  `delete from budgets where scope = 'session' and scope_id = $1`,
]

/** Statements of the one replica that holds the cleanup lock. */
export type Cleaning = ReturnType<typeof cleaningOn>

function cleaningOn(client: PoolClient) {
  const changed = async (text: string, values: readonly unknown[]): Promise<number> =>
    (await client.query(text, [...values])).rowCount ?? 0

  return {
    /** Deletes one batch of older rows; true when more may be left. */
    async deleteOlder(table: AgedTable, olderMs: number): Promise<boolean> {
      if (table !== 'audit') return (await changed(byAge[table], [olderMs])) === batchRows
      // A trigger of the audit log allows deletes only with this setting.
      await client.query(`select set_config('switchyard.retention', 'on', false)`)
      try {
        return (await changed(byAge.audit, [olderMs])) === batchRows
      } finally {
        await client.query(`select set_config('switchyard.retention', '', false)`)
      }
    },

    /** Returns up to 100 sessions without a change for `olderMs` and without a waiting or running prompt. */
    async idleSessions(olderMs: number): Promise<string[]> {
      const text = `
        select id from sessions s
        where deleted_at is null and updated_at < ${age('$1')} and not exists (
          select from prompts p where p.session_id = s.id and p.state in ('waiting', 'running'))
        order by id limit 100`
      const { rows } = await client.query<{ id: string }>(text, [olderMs])
      return rows.map(({ id }) => id)
    },

    /** Marks the next session that was deleted `olderMs` ago as purged, so that its rest can no longer be read. */
    async purgeNext(olderMs: number): Promise<PurgedSession | undefined> {
      const text = `
        update sessions set purged_at = coalesce(purged_at, clock_timestamp()) where id = (
          select id from sessions where deleted_at < ${age('$1')} and emptied_at is null
          order by deleted_at limit 1 for update skip locked)
        returning id, agent_id, disposed_at is not null as is_disposed`
      return (await client.query<PurgedSession>(text, [olderMs])).rows[0]
    },

    /** Deletes one batch of the session's events; true when more may be left. */
    async deleteEvents(sessionId: string): Promise<boolean> {
      const text = `
        delete from session_events where session_id = $1 and seq = any (array(
          select seq from session_events where session_id = $1 order by seq limit ${batchRows} for update skip locked))`
      return (await changed(text, [sessionId])) === batchRows
    },

    /** Returns up to 100 keys of objects to delete from the object store. */
    async unneededObjects(): Promise<string[]> {
      const text = `
        select object_key as key from workspace_objects where delete_after < clock_timestamp() order by delete_after limit 100`
      return (await client.query<{ key: string }>(text)).rows.map(({ key }) => key)
    },

    async forgetObjects(keys: readonly string[]): Promise<void> {
      await client.query('delete from workspace_objects where object_key = any ($1)', [keys])
    },

    /** Releases one batch of the session's file chunks, which are deleted a day later; true when more may be left. */
    async releaseFiles(sessionId: string): Promise<boolean> {
      const text = `
        with released as (
          delete from workspace_refs where session_id = $1 and hash = any (array(
            select hash from workspace_refs where session_id = $1 order by hash limit ${batchRows} for update skip locked))
          returning owner_id, hash
        ), loose as (
          update workspace_blobs b set loose_since = clock_timestamp() from released
          where b.owner_id = released.owner_id and b.hash = released.hash and b.loose_since is null
        )
        select from released`
      return (await changed(text, [sessionId])) === batchRows
    },

    /** Deletes everything else of the session; its row stays. */
    async empty({ id, agent_id }: PurgedSession): Promise<void> {
      for (const text of ofSession) await client.query(text, [id])
      await client.query('delete from webhook_conversations where agent_id = $2 and session_id = $1', [id, agent_id])
      await client.query('update sessions set emptied_at = clock_timestamp() where id = $1', [id])
    },
  }
}

/** Cleanup of every table that grows. Statements are bounded and skip locked rows. */
export type RetentionStore = ReturnType<typeof retentionStore>

export function retentionStore(pool: Pool) {
  return {
    /** Runs `work` under the cleanup lock; returns undefined when another replica has the lock. */
    async alone<T>(work: (cleaning: Cleaning) => Promise<T>): Promise<T | undefined> {
      const client = await pool.connect()
      let isClean = false
      try {
        const text = 'select pg_try_advisory_lock($1) as taken'
        const { rows } = await client.query<{ taken: boolean }>(text, [cleanupLock])
        if (!rows[0]?.taken) {
          isClean = true
          return undefined
        }
        const result = await work(cleaningOn(client))
        await client.query('select pg_advisory_unlock($1)', [cleanupLock])
        isClean = true
        return result
      } finally {
        // Close a connection in an unknown state, so that its lock is released.
        client.release(!isClean)
      }
    },
  }
}
