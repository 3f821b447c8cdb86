import type { Pool, PoolClient } from 'pg'
import type { Prompt, PromptMode, PromptPart, PromptState } from '../../contract/prompts.ts'
import type { Hold, Queryable } from './event-store.ts'
import type { EndedPrompt } from './prompt-ended.ts'

/** Where a prompt stands in its queue, for the pages of `list`. */
export const promptKey = ({ position, id }: Pick<Prompt, 'position' | 'id'>): string => `${position} ${id}`

/** A prompt as the engine runs it. */
export interface QueuedPrompt {
  readonly id: string
  readonly session_id: string
  readonly parts: readonly PromptPart[]
  readonly model: string
  readonly system: string | null
  readonly mode: PromptMode
  readonly state: PromptState
  readonly principal: string
  /** The virtual key that queued it; null for the master key. */
  readonly key_id: string | null
  readonly run_id: string | null
  readonly resumes: number
  readonly stop_requested: boolean
}

export interface NewPrompt {
  readonly id: string
  readonly sessionId: string
  readonly position: number
  readonly parts: readonly PromptPart[]
  readonly model: string
  readonly system: string | undefined
  readonly mode: PromptMode
  readonly messageId: string | undefined
  readonly principal: string
  readonly keyId: string | undefined
}

interface StopRequest {
  readonly session_id: string
  readonly run_id: string
}

/** How busy a session is, read under its row lock. */
export interface QueueFacts {
  readonly waiting: number
  readonly running: number
  readonly first_position: number | null
  /** The session takes no more prompts. */
  readonly is_archived: boolean
}

const columns = 'id, session_id, parts, model, system, mode, state, principal, key_id, run_id, resumes, stop_requested'

/** SQL for the prompt of a session that comes next: one that was cut off by a crash, else the first that waits. */
export const firstInLine = (what: string, session: string): string => `
  select ${what} from prompts p where p.session_id = ${session} and p.state in ('waiting', 'running')
  order by p.state = 'running' desc, p.position limit 1`

/** SQL that is true for a prompt which waits for its budget; nobody need wait to be stopped. */
export const isHeld = '(p.held_by is not null and not p.stop_requested)'

const nextText = `select ${columns} from (${firstInLine(`p.*, ${isHeld} as is_held`, '$1')}) first where not is_held`

const joinText = `
  with joined as (
    update prompts p set state = 'running', held_by = null, run_id = $3, started_at = clock_timestamp()
    from sessions s
    where s.id = $1 and s.fence = $2 and p.session_id = s.id and p.state = 'waiting' and p.mode = 'steer'
    returning p.position, ${columns
      .split(', ')
      .map(name => `p.${name}`)
      .join(', ')}
  )
  select ${columns} from (
    select position, ${columns} from prompts where session_id = $1 and state = 'running'
    union all select * from joined
  ) of_run order by position`

/** Table `prompts`: the queue of each session. */
export type PromptStore = ReturnType<typeof promptStore>

export function promptStore(pool: Pool) {
  return {
    /** The prompt that a client already queued under this message id. */
    async withMessageId(on: Queryable, sessionId: string, messageId: string): Promise<string | undefined> {
      const text = 'select id from prompts where session_id = $1 and message_id = $2'
      const { rows } = await on.query<{ id: string }>({
        name: 'prompt_of_message',
        text,
        values: [sessionId, messageId],
      })
      return rows[0]?.id
    },

    async facts(on: Queryable, sessionId: string): Promise<QueueFacts> {
      const text = `
        select count(*) filter (where state = 'waiting') as waiting, count(*) filter (where state = 'running') as running,
               min(position) filter (where state = 'waiting') as first_position,
               exists (select from dialect_sessions where session_id = $1 and archived_at is not null) as is_archived
        from prompts where session_id = $1 and state in ('waiting', 'running')`
      const { rows } = await on.query<QueueFacts>({ name: 'queue_facts', text, values: [sessionId] })
      return rows[0] ?? { waiting: 0, running: 0, first_position: null, is_archived: false }
    },

    async insert(on: Queryable, prompt: NewPrompt): Promise<void> {
      const text = `
        insert into prompts (id, session_id, position, parts, model, system, mode, message_id, principal, key_id)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`
      const { id, sessionId, position, parts, model, system, mode, messageId, principal, keyId } = prompt
      const values = [id, sessionId, position, JSON.stringify(parts), model, system, mode, messageId, principal, keyId]
      await on.query({ name: 'insert_prompt', text, values })
    },

    /** What the session's owner works on next; undefined also while the first in line waits for its budget. */
    async next(sessionId: string, on: Queryable = pool): Promise<QueuedPrompt | undefined> {
      const { rows } = await on.query<QueuedPrompt>({ name: 'next_prompt', text: nextText, values: [sessionId] })
      return rows[0]
    },

    /** All prompts of the run, in order; those that asked to join the running turn are its own from now on. */
    async join({ sessionId, fence }: Hold, runId: string): Promise<QueuedPrompt[]> {
      const { rows } = await pool.query<QueuedPrompt>({
        name: 'join_run',
        text: joinText,
        values: [sessionId, fence, runId],
      })
      return rows
    },

    /** Marks a waiting prompt as running under `runId`. */
    async start(on: Queryable, id: string, runId: string): Promise<void> {
      const text = `
        update prompts set state = 'running', held_by = null, run_id = $2, started_at = clock_timestamp()
        where id = $1 and state = 'waiting'`
      await on.query({ name: 'start_prompt', text, values: [id, runId] })
    },

    /** Records how many owners were cut off in the prompt. Repeating it counts nothing twice. */
    async setResumes(id: string, resumes: number): Promise<void> {
      await pool.query('update prompts set resumes = $2 where id = $1', [id, resumes])
    },

    /** Ends every running prompt of the session: the one of the run and those that joined it. */
    async finish(on: Queryable, sessionId: string, state: 'done' | 'error' | 'cancelled'): Promise<void> {
      const text = `
        update prompts set state = $2, ended_at = clock_timestamp() where session_id = $1 and state = 'running'`
      await on.query({ name: 'finish_prompts', text, values: [sessionId, state] })
    },

    /** Prompts of the running turn besides `promptId`: those that joined it, in order. */
    async joined(sessionId: string, promptId: string): Promise<EndedPrompt[]> {
      const text = `
        select id, run_id from prompts where session_id = $1 and state = 'running' and id <> $2 order by position`
      const { rows } = await pool.query<EndedPrompt>({ name: 'joined_prompts', text, values: [sessionId, promptId] })
      return rows
    },

    /** Cancels what waits and what runs; those prompts, in order. */
    async cancelAll(on: Queryable, sessionId: string): Promise<EndedPrompt[]> {
      const text = `
        with cancelled as (
          update prompts set state = 'cancelled', held_by = null, ended_at = clock_timestamp()
          where session_id = $1 and state in ('waiting', 'running') returning id, run_id, position
        )
        select id, run_id from cancelled order by position`
      return (await on.query<EndedPrompt>(text, [sessionId])).rows
    },

    /** Asks the owner of the running prompt to stop it. False when none runs. */
    async requestStop(on: Queryable, sessionId: string): Promise<boolean> {
      const text = `
        update prompts set stop_requested = true where session_id = $1 and state = 'running' and not stop_requested`
      const { rowCount } = await on.query(text, [sessionId])
      return (rowCount ?? 0) > 0
    },

    /** The runs of the held sessions that must stop. */
    async stopRequests(holds: readonly Hold[]): Promise<StopRequest[]> {
      const text = `
        select distinct session_id, run_id from prompts
        where session_id = any ($1) and state = 'running' and stop_requested`
      const { rows } = await pool.query<StopRequest>({
        name: 'stop_requests',
        text,
        values: [holds.map(({ sessionId }) => sessionId)],
      })
      return rows
    },

    /** Withdraws a waiting prompt; the state it was found in, or undefined when there is none. */
    async withdraw(on: PoolClient, sessionId: string, id: string): Promise<PromptState | undefined> {
      const find = 'select state from prompts where session_id = $1 and id = $2 for update'
      const { rows } = await on.query<{ state: PromptState }>(find, [sessionId, id])
      const state = rows[0]?.state
      if (state === 'waiting') {
        await on.query(`update prompts set state = 'cancelled', ended_at = clock_timestamp() where id = $1`, [id])
      }
      return state
    },

    /** A page of the queue in order of execution. `after` is the key of the last prompt of the page before. */
    async list(sessionId: string, { after, limit }: { after: string | undefined; limit: number }): Promise<Prompt[]> {
      const text = `
        select id, position, state, held_by, parts, model, created_at from prompts
        where session_id = $1 and ($2::bigint is null or (position, id) > ($2, $3)) order by position, id limit $4`
      const [position, id] = after?.split(' ') ?? []
      const { rows } = await pool.query<Omit<Prompt, 'created_at'> & { created_at: Date }>(text, [
        sessionId,
        position,
        id,
        limit,
      ])
      return rows.map(row => ({ ...row, created_at: row.created_at.toISOString() }))
    },

    async find(id: string): Promise<{ state: PromptState } | undefined> {
      const { rows } = await pool.query<{ state: PromptState }>('select state from prompts where id = $1', [id])
      return rows[0]
    },
  }
}
