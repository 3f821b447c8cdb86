import type { Pool, PoolClient } from 'pg'
import { transaction } from '../../db/connect.ts'
import type { EncryptedValue } from '../../platform/encryption.ts'
import type { TaskPrompt } from '../task-reading.ts'

/** What callers read of a config. */
export interface PushConfigRow {
  readonly task_id: string
  readonly id: string
  readonly url: string
  readonly scheme: string | null
}

/** A config to store. */
export interface NewPushConfig extends PushConfigRow, EncryptedValue {
  readonly session_id: string
  readonly host: string
  readonly version: number
  readonly run_as_key_id: string | null
  /** Event up to which the first notification, the whole task, shows the log. */
  readonly seq: number
}

/** A replica's claim on a config, with the prompt of its task. */
export interface PushClaim extends Omit<NewPushConfig, 'run_as_key_id'> {
  readonly sealed: Buffer
  readonly has_task: boolean
  /** Attempts so far for the next notification. */
  readonly attempts: number
  readonly claim: string
  readonly prompt: TaskPrompt
}

/** What a config becomes after a notification or an attempt. */
interface Settled {
  readonly seq: number
  readonly hasTask: boolean
  readonly attempts: number
  readonly state: 'active' | 'done' | 'stopped'
  /** Delay before the next attempt; undefined: keeps the claim. */
  readonly retryMs: number | undefined
}

type ClaimRow = Omit<PushClaim, 'prompt'> & {
  readonly message_id: string | null
  readonly prompt_created_at: Date
}

const leaseMs = 20_000
const inMs = (parameter: string) => `clock_timestamp() + ${parameter} * interval '1 millisecond'`
const shown = 'task_id, id, url, scheme'

/** SQL that is true while the key of config `c` is valid. */
const isKeyValid = '(c.run_as_key_id is null or is_key_valid(c.run_as_key_id))'

/** SQL that is true for config `c` with events of session `s` to read. */
const hasNews = `c.state = 'active' and c.ready_at is null and s.next_seq - 1 > c.seq`

const claimText = `
  with ready as (
    select c.task_id, c.id, p.message_id, p.created_at
    from a2a_push_configs c join prompts p on p.id = c.task_id and p.session_id = c.session_id
    where c.ready_at <= clock_timestamp() and c.state = 'active' and ${isKeyValid} and c.host <> all ($2)
    order by c.ready_at limit 1 for update of c skip locked
  )
  update a2a_push_configs c set claim = $1, ready_at = ${inMs(String(leaseMs))}
  from ready where c.task_id = ready.task_id and c.id = ready.id
  returning c.task_id, c.id, c.session_id, c.url, c.host, c.scheme, c.version, c.sealed, c.key_id, c.seq, c.has_task, c.attempts,
            c.claim, ready.message_id, ready.created_at as prompt_created_at`

const insertText = `
  insert into a2a_push_configs
    (task_id, id, session_id, url, host, scheme, version, sealed, key_id, run_as_key_id, seq, ready_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, clock_timestamp())
  on conflict (task_id, id) do update
  set url = excluded.url, host = excluded.host, scheme = excluded.scheme, version = excluded.version,
      sealed = excluded.sealed, key_id = excluded.key_id, run_as_key_id = excluded.run_as_key_id, seq = excluded.seq,
      state = 'active', has_task = false, attempts = 0, claim = null, ready_at = excluded.ready_at`

/** Table `a2a_push_configs`. */
export type PushStore = ReturnType<typeof pushStore>

export function pushStore(pool: Pool) {
  return {
    /** Stores a config, or replaces the one with its id. Returns false when the task already has `max` others. */
    async put(config: NewPushConfig, max: number): Promise<boolean> {
      return transaction(pool, async client => {
        if ((await othersOf(client, config)) >= max) return false
        const { task_id, id, session_id, url, host, scheme, version, sealed, key_id, run_as_key_id, seq } = config
        const place = [task_id, id, session_id, url, host, scheme]
        await client.query(insertText, [...place, version, sealed, key_id, run_as_key_id, seq])
        return true
      })
    },

    async find(taskId: string, id: string): Promise<(PushConfigRow & { readonly version: number }) | undefined> {
      const text = `select ${shown}, version from a2a_push_configs where task_id = $1 and id = $2`
      return (await pool.query<PushConfigRow & { version: number }>(text, [taskId, id])).rows[0]
    },

    async list(taskId: string): Promise<PushConfigRow[]> {
      const text = `select ${shown} from a2a_push_configs where task_id = $1 order by created_at, id`
      return (await pool.query<PushConfigRow>(text, [taskId])).rows
    },

    async remove(taskId: string, id: string): Promise<void> {
      await pool.query('delete from a2a_push_configs where task_id = $1 and id = $2', [taskId, id])
    },

    /** Marks the configs of these sessions as ready; returns how many have events to read. */
    async markReady(sessionIds: readonly string[]): Promise<number> {
      const text = `
        update a2a_push_configs c set ready_at = clock_timestamp() from sessions s
        where s.id = c.session_id and c.session_id = any ($1) and ${hasNews}`
      return (await pool.query(text, [sessionIds])).rowCount ?? 0
    },

    /** Like `markReady`, for all sessions. */
    async markAllReady(): Promise<void> {
      await pool.query(
        `update a2a_push_configs c set ready_at = clock_timestamp() from sessions s where s.id = c.session_id and ${hasNews}`,
      )
    },

    /** Stops the configs whose key was revoked or has expired; returns how many. */
    async stopWithInvalidKey(): Promise<number> {
      const text = `
        update a2a_push_configs c set state = 'stopped', claim = null, ready_at = null
        where c.state = 'active' and not ${isKeyValid}`
      return (await pool.query(text)).rowCount ?? 0
    },

    /** Claims a ready config for 20 s; skips those of other replicas and of the `busy` hosts. */
    async claim(claim: string, busy: readonly string[]): Promise<PushClaim | undefined> {
      const { rows } = await pool.query<ClaimRow>({ name: 'claim_push', text: claimText, values: [claim, busy] })
      const [row] = rows
      if (!row) return undefined
      const { message_id, prompt_created_at: created_at, ...claimed } = row
      return { ...claimed, prompt: { id: row.task_id, session_id: row.session_id, message_id, created_at } }
    },

    /** Stores the effects of an attempt. Returns false when another replica has the claim, or the config was deleted. */
    async settle({ task_id, id, claim }: PushClaim, settled: Settled): Promise<boolean> {
      const { seq, hasTask, attempts, state, retryMs } = settled
      const isKept = state === 'active' && retryMs === undefined
      const text = `
        update a2a_push_configs
        set seq = $4, has_task = $5, attempts = $6, state = $7, claim = case when $8 then claim end,
            ready_at = case when $7 = 'active' then ${inMs('$9::float8')} end
        where task_id = $1 and id = $2 and claim = $3`
      const values = [task_id, id, claim, seq, hasTask, attempts, state, isKept, retryMs ?? leaseMs]
      return (await pool.query(text, values)).rowCount === 1
    },

    /** Releases the claim at an event; the config stays ready if there are newer ones. */
    async release({ task_id, id, claim }: PushClaim, seq: number): Promise<void> {
      const text = `
        update a2a_push_configs c
        set seq = $4, claim = null, ready_at = case when s.next_seq - 1 > $4 then clock_timestamp() end
        from sessions s where c.task_id = $1 and c.id = $2 and c.claim = $3 and s.id = c.session_id`
      await pool.query(text, [task_id, id, claim, seq])
    },
  }
}

/** Counts the other configs of a task. Calls for a task take turns, so that those at the same time do not exceed the limit. */
async function othersOf(on: PoolClient, { task_id, id }: NewPushConfig): Promise<number> {
  await on.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`a2a push ${task_id}`])
  const text = 'select count(*)::int as count from a2a_push_configs where task_id = $1 and id <> $2'
  return (await on.query<{ count: number }>(text, [task_id, id])).rows[0]?.count ?? 0
}
