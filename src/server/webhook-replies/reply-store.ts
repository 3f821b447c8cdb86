import type { Pool, PoolClient } from 'pg'
import type { WebhookReply } from '../../contract/webhook-replies.ts'
import { transaction } from '../db/connect.ts'
import type { ReplyTarget } from './reply-target.ts'

/** Where the replies to the prompt of a delivery go. */
export interface Destination {
  readonly prompt_id: string
  readonly session_id: string
  readonly agent_id: string
  readonly owner_id: string
  readonly delivery_id: string
  readonly type: WebhookReply['type']
  readonly target: ReplyTarget
  readonly secret_key: string
  readonly may_be_global: boolean
}

/** A prompt that has ended or waits for approvals, and needs replies. */
export interface DueDestination extends Destination {
  /** Null when the prompt was deleted. */
  readonly state: 'waiting' | 'running' | 'done' | 'error' | 'cancelled' | null
  readonly run_id: string | null
  /** Approvals without a reply yet. */
  readonly approvals: readonly string[]
}

export interface NewReply {
  readonly id: string
  readonly kind: WebhookReply['kind']
  /** The run, or the approval. */
  readonly subject: string
}

/** A reply that this replica sends now. */
export interface ClaimedReply extends Destination, NewReply {
  readonly claim: string
  /** Attempts including this one. */
  readonly attempts: number
  /** Status of the attempt before; null when its outcome is unknown. */
  readonly last_status: number | null
  readonly created_at: Date
}

/** Result of an attempt. */
export interface Settled {
  readonly state: WebhookReply['state']
  readonly httpStatus: number | null
  readonly error: string | null
  readonly externalId: string | null
  /** Delay before the next attempt; null after the last. */
  readonly retryMs: number | null
}

interface ListOf {
  readonly owner: string | undefined
  readonly agentId: string | undefined
  readonly sessionId: string | undefined
  readonly state: string | undefined
  readonly after: string | undefined
  readonly limit: number
}

type Row = Omit<WebhookReply, 'created_at' | 'finished_at' | 'next_attempt_at'> &
  Record<'created_at', Date> &
  Record<'finished_at' | 'next_attempt_at', Date | null>

/** Longer than an attempt can take. */
const claimMs = 60_000
const destination = 'prompt_id, session_id, agent_id, owner_id, delivery_id, type, target, secret_key, may_be_global'
const inMs = (parameter: string) => `clock_timestamp() + ${parameter}::float8 * interval '1 millisecond'`

const valuesOf = (to: Destination): unknown[] => [
  to.prompt_id,
  to.session_id,
  to.agent_id,
  to.owner_id,
  to.delivery_id,
  to.type,
  JSON.stringify(to.target),
  to.secret_key,
  to.may_be_global,
]

const insertText = (state: string, error: string, due: string) => `
  insert into webhook_replies (${destination}, id, kind, subject, target_digest, state, error, next_attempt_at, finished_at)
  values ($1, $2, $3, $4, $5, $6, $7::json, $8, $9, $10, $11, $12, sha256(convert_to($6::text || chr(10) || $7::text, 'utf8')),
          ${state}, ${error}, ${due}, case when ${state} = 'pending' then null else clock_timestamp() end)
  on conflict (subject, target_digest) do nothing`
const queueText = insertText(`'pending'`, 'null', 'clock_timestamp()')
const skipText = insertText(`'skipped'`, '$13', 'null')

/** Tables `webhook_reply_targets` and `webhook_replies`. */
export type ReplyStore = ReturnType<typeof replyStore>

export function replyStore(pool: Pool) {
  return {
    /** Records where the replies to a prompt go, in the transaction that queues it. */
    async expect(on: PoolClient, to: Destination): Promise<void> {
      const text = `
        insert into webhook_reply_targets (${destination}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        on conflict (prompt_id) do nothing`
      await on.query(text, valuesOf(to))
    },

    /** Logs that a prompt gets no reply. */
    async skip(on: PoolClient, to: Destination, { reason, ...reply }: NewReply & { reason: string }): Promise<void> {
      await on.query(skipText, [...valuesOf(to), reply.id, reply.kind, reply.subject, reason])
    },

    /** Returns prompts that need replies, oldest first. */
    async due(limit: number): Promise<DueDestination[]> {
      const missing = `
        select w.subject from waits w where w.prompt_id = t.prompt_id and w.kind = 'approval'
          and not exists (select from webhook_replies r where r.subject = w.subject)`
      const text = `
        select t.*, p.state, p.run_id, array(${missing}) as approvals
        from webhook_reply_targets t left join prompts p on p.id = t.prompt_id
        where t.is_open and (p.id is null or p.state not in ('waiting', 'running') or exists (${missing}))
        order by t.created_at limit $1`
      return (await pool.query<DueDestination>({ name: 'due_replies', text, values: [limit] })).rows
    },

    /** Queues replies, each once, and closes the destination of a prompt that has ended. */
    queue: (to: Destination, replies: readonly NewReply[], hasEnded: boolean): Promise<void> =>
      transaction(pool, async client => {
        for (const { id, kind, subject } of replies) await client.query(queueText, [...valuesOf(to), id, kind, subject])
        const close = 'update webhook_reply_targets set is_open = false where prompt_id = $1'
        if (hasEnded) await client.query(close, [to.prompt_id])
      }),

    /** Claims a due reply for 60 s and counts the attempt. */
    async claim(claim: string): Promise<ClaimedReply | undefined> {
      const text = `
        with due as (
          select id as due_id, http_status as last_status from webhook_replies
          where state = 'pending' and next_attempt_at <= clock_timestamp()
          order by next_attempt_at limit 1 for update skip locked
        )
        update webhook_replies
        set claim = $1, attempts = attempts + 1, http_status = null, next_attempt_at = ${inMs(String(claimMs))}
        from due where id = due_id
        returning ${destination}, id, kind, subject, claim, attempts, created_at, last_status`
      return (await pool.query<ClaimedReply>({ name: 'claim_reply', text, values: [claim] })).rows[0]
    },

    /** Stores the result of an attempt, unless another replica has taken the reply over. */
    async settle(
      { id, claim }: ClaimedReply,
      { state, httpStatus, error, externalId, retryMs }: Settled,
    ): Promise<void> {
      const text = `
        update webhook_replies
        set state = $3, http_status = $4, error = $5, external_id = $6, claim = null, next_attempt_at = ${inMs('$7')},
            finished_at = case when $3 <> 'pending' then clock_timestamp() end
        where id = $1 and claim = $2`
      await pool.query(text, [id, claim, state, httpStatus, error, externalId, retryMs])
    },

    /** Returns replies, newest first. */
    async list({ owner, agentId, sessionId, state, after, limit }: ListOf): Promise<WebhookReply[]> {
      const text = `
        select id, agent_id, session_id, prompt_id, delivery_id, type, target, kind, state, attempts, http_status, error,
               external_id, next_attempt_at, created_at, finished_at
        from webhook_replies
        where ($1::text is null or owner_id = $1) and ($2::text is null or agent_id = $2)
          and ($3::text is null or session_id = $3) and ($4::text is null or state = $4) and ($5::text is null or id < $5)
        order by id desc limit $6`
      const { rows } = await pool.query<Row>(text, [owner, agentId, sessionId, state, after, limit])
      return rows.map(row => ({
        ...row,
        next_attempt_at: row.next_attempt_at?.toISOString() ?? null,
        created_at: row.created_at.toISOString(),
        finished_at: row.finished_at?.toISOString() ?? null,
      }))
    },
  }
}
