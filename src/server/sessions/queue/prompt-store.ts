import type { Pool } from 'pg'
import type { SessionEvent } from '../../../contract/events.ts'
import { type Outcome, progressOf, type StoredOutcome } from '../../../contract/outcomes.ts'
import type { Prompt, PromptKind, PromptMode, PromptPart, PromptState } from '../../../contract/prompts.ts'
import { newId } from '../../platform/ids.ts'
import type { TraceHeaders } from '../../platform/trace-context.ts'
import { leaseSeconds } from '../lease-time.ts'
import {
  appended,
  columnsOf,
  type Lease,
  type NamedEvent,
  type Queryable,
  type StoredRow,
  withId,
} from '../log/event-store.ts'
import type { RunRow } from '../session-row.ts'
import type { OutcomeChange } from './outcome-state.ts'
import type { EndedPrompt } from './prompt-ended.ts'

/** Returns the cursor of a prompt for the pages of `list`. */
export const promptKey = ({ position, id }: Pick<Prompt, 'position' | 'id'>): string => `${position} ${id}`

/** A prompt as the engine runs it. */
export interface QueuedPrompt {
  readonly id: string
  readonly session_id: string
  readonly kind: PromptKind
  readonly parts: readonly PromptPart[]
  readonly model: string
  readonly system: string | null
  readonly output_schema: Readonly<Record<string, unknown>> | null
  /** The outcome that the run has to reach; null without one. */
  readonly outcome: Outcome | null
  /** Id that the client chose for its message. */
  readonly message_id: string | null
  readonly mode: PromptMode
  readonly state: PromptState
  readonly principal: string
  /** The virtual key that queued it; null for the master key. */
  readonly key_id: string | null
  readonly run_id: string | null
  readonly resumes: number
  readonly stop_requested: boolean
  /** Milliseconds that its previous runs worked before they had to wait. */
  readonly ran_ms: number
  /** Trace context of the request that sent it. */
  readonly traceparent: string | null
  readonly tracestate: string | null
}

export interface NewPrompt {
  readonly id: string
  readonly sessionId: string
  readonly parts: readonly PromptPart[]
  readonly model: string
  readonly system: string | undefined
  readonly mode: PromptMode
  readonly messageId: string | undefined
  readonly principal: string
  readonly keyId: string | undefined
  /** Trace context of its request. */
  readonly trace?: TraceHeaders | undefined
}

/** A request to the owner of a session. */
interface ControlRequest {
  readonly session_id: string
  /** The run that must stop; null when a prompt waits to join. */
  readonly run_id: string | null
}

/** Result of queueing a prompt. */
export interface Accepted {
  /** `known`: another prompt has its message id; `gone`: the session does not exist. */
  readonly outcome: 'accepted' | 'known' | 'gone' | 'archived' | 'busy' | 'full'
  /** The id of the prompt that has the message id. */
  readonly promptId: string
  /** Its message, and the start of its run if the session was `acquired`. */
  readonly events: readonly SessionEvent[]
  readonly acquired: AcquiredAtOnce | undefined
}

/** A session that was acquired by the statement that queued its prompt, with the run already started. */
export interface AcquiredAtOnce extends Lease {
  readonly first: QueuedPrompt
  /** The logged start of the run. */
  readonly begun: SessionEvent
  /** The session row before the run started. */
  readonly session: RunRow
}

interface AcceptedRow extends StoredRow {
  readonly outcome: Accepted['outcome']
  readonly prompt_id: string | null
  readonly fence: number
  /** Only set in the row of the first event. */
  readonly taken: RunRow | null
}

const notAccepted = { outcome: 'gone', prompt_id: null, fence: 0, taken: null } as const

const acceptArguments = `
  $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, interval '${leaseSeconds} seconds', $16, $17`

const acceptText = { name: 'accept_prompt', text: `select * from accept_prompt(${acceptArguments})` }
const acceptTracedText = {
  name: 'accept_traced_prompt',
  text: `select * from accept_traced_prompt(${acceptArguments}, $18, $19)`,
}

const columns =
  'id, session_id, kind, parts, model, system, mode, state, principal, key_id, run_id, resumes, stop_requested, ran_ms, output_schema, outcome, message_id, traceparent, tracestate'

/** SQL for the first prompt in the queue of a session: one interrupted by a crash, else the first waiting one. */
export const firstInLine = (what: string, session: string): string => `
  select ${what} from prompts p where p.session_id = ${session} and p.state in ('waiting', 'running')
  order by p.state = 'running' desc, p.position limit 1`

/** SQL that is true for a prompt that waits for a budget, an approval or a time. A prompt to be stopped never waits. */
export const isBlocked = `(not p.stop_requested and exists (
  select from waits where prompt_id = p.id and (until is null or until > clock_timestamp())))`

/** SQL for the prompt that the owner of a session runs next; no row also while the first one waits for something. */
export const nextText = (session: string): string =>
  `select ${columns} from (${firstInLine(`p.*, ${isBlocked} as is_blocked`, session)}) first where not is_blocked`

/** SQL that is true for a prompt that runs, or joins the running turn. */
export const takesPart = `(p.state = 'running' or p.state = 'waiting' and p.mode = 'steer')`

/** Order of a session's prompts: the running one, else the first that waits, else the last one. */
export const currentFirst = `
  state = 'running' desc, state = 'waiting' desc, case when state = 'waiting' then position else -position end`

const joinText = `
  with joined as (
    update prompts p set state = 'running', run_id = $3, started_at = clock_timestamp()
    from sessions s
    where s.id = $1 and s.fence = $2 and p.session_id = s.id and p.state = 'waiting' and p.mode = 'steer'
    returning p.position, ${columns
      .split(', ')
      .map(name => `p.${name}`)
      .join(', ')}
  ), ended as (
    delete from waits where prompt_id in (select id from joined)
  )
  select ${columns} from (
    select position, ${columns} from prompts where session_id = $1 and state = 'running'
    union all select * from joined
  ) of_run order by position`

type ListedRow = Omit<Prompt, 'created_at' | 'outcome'> &
  Omit<StoredOutcome, 'outcome' | 'state'> & { readonly created_at: Date; readonly outcome: Outcome | null }

const toPrompt = ({ outcome, outcome_state, ended_at, created_at, ...row }: ListedRow): Prompt => ({
  ...row,
  outcome: outcome && { ...outcome, ...progressOf({ outcome, outcome_state, state: row.state, ended_at }) },
  created_at: created_at.toISOString(),
})

/** Returns the row of a prompt that has not run yet. */
const asQueued = ({ id, sessionId, parts, model, system, mode, messageId, principal, keyId, trace }: NewPrompt) => ({
  id,
  session_id: sessionId,
  kind: 'prompt' as const,
  parts,
  model,
  system: system ?? null,
  output_schema: null,
  outcome: null,
  message_id: messageId ?? null,
  mode,
  state: 'waiting' as const,
  principal,
  key_id: keyId ?? null,
  resumes: 0,
  stop_requested: false,
  ran_ms: 0,
  traceparent: trace?.traceparent ?? null,
  tracestate: trace?.tracestate ?? null,
})

/** Table `prompts`: the queue of each session. */
export type PromptStore = ReturnType<typeof promptStore>

export function promptStore(pool: Pool) {
  return {
    /** Returns the id of the prompt that a client already queued under this message id. */
    async withMessageId(on: Queryable, sessionId: string, messageId: string): Promise<string | undefined> {
      const text = 'select id from prompts where session_id = $1 and message_id = $2'
      const { rows } = await on.query<{ id: string }>(text, [sessionId, messageId])
      return rows[0]?.id
    },

    /**
     * Queues a prompt, unless `maxWaiting` prompts wait, and appends its message to the log. With a `taker`, the name
     * of a process, it also acquires the lease of an otherwise idle session and starts the run.
     */
    async accept(
      on: Queryable,
      prompt: NewPrompt,
      { message, maxWaiting, taker }: { message: NamedEvent; maxWaiting: number; taker?: string | undefined },
    ): Promise<Accepted> {
      const { id, sessionId, parts, model, system, mode, messageId, principal, keyId, trace } = prompt
      const values = [
        sessionId,
        id,
        JSON.stringify(parts),
        model,
        system,
        mode,
        messageId,
        principal,
        keyId,
        maxWaiting,
      ]
      const runId = newId('run')
      const running = withId({ type: 'session.status_running', prompt_id: id, run_id: runId })
      const { rows } = await on.query<AcceptedRow>({
        ...(trace ? acceptTracedText : acceptText),
        values: [
          ...values,
          ...columnsOf([message]),
          taker,
          runId,
          running.id,
          ...(trace ? [trace.traceparent, trace.tracestate] : []),
        ],
      })
      const [{ outcome, prompt_id, fence, taken: session } = notAccepted] = rows
      const named = session ? [message, running] : [message]
      const events = (outcome === 'accepted' && appended(on, sessionId, named, rows)) || []
      const begun = events[1]
      const first = { ...asQueued(prompt), run_id: runId }
      const acquired = session &&
        begun && { sessionId, fence, first, begun, session: { ...session, next_seq: begun.seq } }
      return { outcome, promptId: prompt_id ?? id, events, acquired: acquired ?? undefined }
    },

    /** Sets the kind of a prompt that was accepted in this transaction. */
    async setKind(on: Queryable, id: string, kind: PromptKind): Promise<void> {
      await on.query('update prompts set kind = $2 where id = $1', [id, kind])
    },

    /** Sets the schema of the answer to a prompt that was accepted in this transaction. */
    async setOutputSchema(on: Queryable, id: string, schema: Readonly<Record<string, unknown>>): Promise<void> {
      await on.query('update prompts set output_schema = $2 where id = $1', [id, JSON.stringify(schema)])
    },

    /** Sets the outcome of a prompt that was accepted in this transaction. */
    async setOutcome(on: Queryable, id: string, outcome: Outcome): Promise<void> {
      await on.query('update prompts set outcome = $2 where id = $1', [id, JSON.stringify(outcome)])
    },

    /** Records how far the evaluation of a running prompt's outcome has come. */
    async setOutcomeState(on: Queryable, id: string, { state, isFinal }: OutcomeChange): Promise<void> {
      const text = `
        update prompts
        set outcome_state = $2::jsonb || case when $3 then jsonb_build_object('completed_at', clock_timestamp()) else '{}' end
        where id = $1`
      await on.query(text, [id, JSON.stringify(state), isFinal])
    },

    /** Returns the prompt to run next; undefined also while the first in the queue waits for something. */
    async next(sessionId: string, on: Queryable = pool): Promise<QueuedPrompt | undefined> {
      const { rows } = await on.query<QueuedPrompt>({ name: 'next_prompt', text: nextText('$1'), values: [sessionId] })
      return rows[0]
    },

    /** Joins waiting steering prompts to the run. Returns all prompts of the run, in order. */
    async join({ sessionId, fence }: Lease, runId: string): Promise<QueuedPrompt[]> {
      const { rows } = await pool.query<QueuedPrompt>({
        name: 'join_run',
        text: joinText,
        values: [sessionId, fence, runId],
      })
      return rows
    },

    /** Makes the running prompts of a session wait until a provider may be called again. */
    async putAside({ sessionId, fence }: Lease, ms: number): Promise<void> {
      const text = `
        insert into waits (prompt_id, kind, session_id, until)
        select p.id, 'retry', $1, clock_timestamp() + $3 * interval '1 millisecond'
        from prompts p join sessions s on s.id = p.session_id
        where s.id = $1 and s.fence = $2 and p.state = 'running'
        on conflict (prompt_id, kind, subject) do update set until = excluded.until`
      await pool.query(text, [sessionId, fence, ms])
    },

    /** Adds to the working time of the running prompts. */
    async addRunTime({ sessionId, fence }: Lease, ranMs: number): Promise<void> {
      const text = `
        update prompts set ran_ms = ran_ms + $3 where session_id = $1 and state = 'running'
          and exists (select from sessions where id = $1 and fence = $2)`
      await pool.query(text, [sessionId, fence, Math.round(ranMs)])
    },

    /** Records how many owners were interrupted during the prompt. Idempotent. */
    async setResumes(id: string, resumes: number): Promise<void> {
      await pool.query('update prompts set resumes = $2 where id = $1', [id, resumes])
    },

    /** Returns the prompts that joined the running turn of `promptId`, in order. */
    async joined(sessionId: string, promptId: string): Promise<EndedPrompt[]> {
      const text = `
        select id, run_id from prompts where session_id = $1 and state = 'running' and id <> $2 order by position`
      const { rows } = await pool.query<EndedPrompt>({ name: 'joined_prompts', text, values: [sessionId, promptId] })
      return rows
    },

    /** Cancels waiting and running prompts. Returns them in order. */
    async cancelAll(on: Queryable, sessionId: string): Promise<EndedPrompt[]> {
      const text = `
        with cancelled as (
          update prompts set state = 'cancelled', ended_at = clock_timestamp()
          where session_id = $1 and state in ('waiting', 'running') returning id, run_id, position
        ), ended as (
          delete from waits where session_id = $1
        )
        select id, run_id from cancelled order by position`
      return (await on.query<EndedPrompt>(text, [sessionId])).rows
    },

    /**
     * Requests that the owner stops the running turn, optionally only if one of its prompts has one of `keyIds`. False
     * if none runs.
     */
    async requestStop(on: Queryable, sessionId: string, keyIds?: readonly string[]): Promise<boolean> {
      const text = `
        update prompts set stop_requested = true
        where session_id = $1 and state = 'running' and not stop_requested and ($2::text[] is null or exists (
          select from prompts where session_id = $1 and state = 'running' and key_id = any ($2)))`
      const { rowCount } = await on.query(text, [sessionId, keyIds])
      return (rowCount ?? 0) > 0
    },

    /** Cancels waiting prompts, optionally only those of `keyIds`. Returns them in order. */
    async cancelWaiting(on: Queryable, sessionId: string, keyIds?: readonly string[]): Promise<EndedPrompt[]> {
      const text = `
        with cancelled as (
          update prompts set state = 'cancelled', ended_at = clock_timestamp()
          where session_id = $1 and state = 'waiting' and ($2::text[] is null or key_id = any ($2)) returning id, run_id, position
        ), ended as (
          delete from waits where prompt_id in (select id from cancelled)
        )
        select id, run_id from cancelled order by position`
      return (await on.query<EndedPrompt>(text, [sessionId, keyIds])).rows
    },

    /** Returns the runs that must stop, and the sessions whose running turn a prompt waits to join. */
    async controlRequests(leases: readonly Lease[]): Promise<ControlRequest[]> {
      const text = `
        select distinct session_id, case state when 'running' then run_id end as run_id from prompts
        where session_id = any ($1) and (state = 'running' and stop_requested or state = 'waiting' and mode = 'steer')`
      const { rows } = await pool.query<ControlRequest>({
        name: 'calls',
        text,
        values: [leases.map(({ sessionId }) => sessionId)],
      })
      return rows
    },

    /** Withdraws a waiting prompt. Returns its previous state; undefined when it does not exist. */
    async withdraw(on: Queryable, sessionId: string, id: string): Promise<PromptState | undefined> {
      const find = 'select state from prompts where session_id = $1 and id = $2 for update'
      const { rows } = await on.query<{ state: PromptState }>(find, [sessionId, id])
      const state = rows[0]?.state
      if (state === 'waiting') {
        const text = `
          with ended as (delete from waits where prompt_id = $1)
          update prompts set state = 'cancelled', ended_at = clock_timestamp() where id = $1`
        await on.query(text, [id])
      }
      return state
    },

    /**
     * Returns a page of the queue in order of execution. `after` is the key of the last prompt of the previous page.
     */
    async list(sessionId: string, { after, limit }: { after: string | undefined; limit: number }): Promise<Prompt[]> {
      const text = `
        select id, position, kind, state, parts, model, output_schema, created_at, outcome, outcome_state, ended_at,
               (select kind from waits where prompt_id = p.id order by kind limit 1) as held_by
        from prompts p
        where session_id = $1 and ($2::bigint is null or (position, id) > ($2, $3)) order by position, id limit $4`
      const [position, id] = after?.split(' ') ?? []
      return (await pool.query<ListedRow>(text, [sessionId, position, id, limit])).rows.map(toPrompt)
    },

    /** Returns the prompt that runs, else the first that waits, else the last one. Requests to compact do not count. */
    async current(sessionId: string): Promise<QueuedPrompt | undefined> {
      const text = `
        select ${columns} from prompts where session_id = $1 and kind = 'prompt'
        order by ${currentFirst} limit 1`
      const { rows } = await pool.query<QueuedPrompt>(text, [sessionId])
      return rows[0]
    },

    /** True while a run includes the prompt. */
    async isRunning(on: Queryable, id: string): Promise<boolean> {
      const { rowCount } = await on.query(`select from prompts where id = $1 and state = 'running'`, [id])
      return rowCount === 1
    },

    async find(id: string): Promise<{ state: PromptState } | undefined> {
      const { rows } = await pool.query<{ state: PromptState }>('select state from prompts where id = $1', [id])
      return rows[0]
    },
  }
}
