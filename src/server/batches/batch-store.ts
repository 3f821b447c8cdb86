import type { Pool, PoolClient } from 'pg'
import type { Batch, BatchError } from '../../contract/batches.ts'
import { transaction } from '../db/connect.ts'
import { copyRows } from '../db/copy-rows.ts'
import { type OnceKey, once, type RunSql, sqlOfClient } from '../db/once.ts'
import type { BatchTarget } from '../gateway/batching/batch-api.ts'
import { AppError } from '../platform/errors.ts'

export type BatchFormat = 'anthropic' | 'openai'

/** Kinds of calls that a batch can make. */
export type BatchKind = 'messages' | 'chat' | 'responses' | 'embeddings'

/** A batch with its counters. */
export interface BatchRow {
  readonly id: string
  readonly format: BatchFormat
  readonly principal: string
  /** Key that pays; null for the master key. */
  readonly key_id: string | null
  readonly kind: BatchKind
  readonly headers: Readonly<Record<string, string>>
  readonly metadata: Readonly<Record<string, string>> | null
  readonly input_file_id: string | null
  readonly output_file_id: string | null
  readonly error_file_id: string | null
  /** Seconds; null: without end. */
  readonly output_expires_s: number | null
  readonly state: 'receiving' | 'validating' | 'in_progress' | 'canceling' | 'finalizing' | 'ended'
  readonly outcome: 'completed' | 'failed' | 'cancelled' | 'expired' | null
  readonly errors: readonly BatchError[] | null
  readonly lines: number
  readonly succeeded: number
  readonly errored: number
  readonly canceled: number
  readonly expired: number
  readonly waiting_for: string | null
  readonly provider_batches: Batch['provider_batches']
  readonly created_at: Date
  readonly expires_at: Date
  readonly started_at: Date | null
  readonly cancel_initiated_at: Date | null
  readonly finalizing_at: Date | null
  readonly ended_at: Date | null
}

/** A batch that is about to get its lines. */
export type NewBatch = Pick<BatchRow, 'id' | 'format' | 'principal' | 'key_id' | 'kind' | 'headers'> &
  Partial<Pick<BatchRow, 'metadata' | 'input_file_id' | 'output_expires_s'>> & { readonly state: BatchRow['state'] }

/** The right of a process to add lines to a batch or to write its files. */
export interface BatchClaim {
  readonly id: string
  readonly claim: string
}

/** Numbers of the lines of a new batch, and of those with an error. */
export interface NewLineCounts {
  readonly lines: number
  readonly errored: number
}

/** A batch whose files a process reads or writes. */
export interface BatchJob extends BatchRow {
  readonly claim: string
}

/** A line to store: with the body of its call, or with the error that it ends with. */
export type NewLine = {
  readonly seq: number
  readonly custom_id: string
} & NewCall

/** The body of a call, and where it goes if to a provider's batch API; or an error. */
export type NewCall =
  | { readonly request: string; readonly target?: BatchTarget | undefined }
  | { readonly error: string }

export interface BatchPage {
  readonly principal: string
  readonly format: BatchFormat
  readonly after: string | undefined
  readonly before?: string | undefined
  readonly limit: number
}

/** Whose batches: undefined for everybody’s. */
export interface BatchPayers {
  readonly principal: string | undefined
  readonly keys: readonly string[] | undefined
}

/** The claim of this process ended; another one continues. */
export class ClaimLost extends Error {
  override readonly name = 'ClaimLost'
}

const columns = `
  id, format, principal, key_id, kind, headers, metadata, input_file_id, output_file_id, error_file_id, output_expires_s,
  state, outcome, errors, lines, succeeded, errored, canceled, expired, waiting_for, created_at, expires_at, started_at,
  cancel_initiated_at, finalizing_at, ended_at,
  array(
    select json_build_object('id', provider_id, 'deployment', deployment, 'requests', lines, 'status', state)
    from provider_batches p
    where p.batch_id = batches.id and provider_id is not null order by p.created_at desc limit 100
  ) as provider_batches`

const window = `interval '24 hours'`
/** Longer than a pause of a process; a claim is renewed every 3 s. */
const lease = `interval '15 seconds'`
/** A process that has read a request for so long has exited. */
const receiving = `interval '6 hours'`

const isVisible = `deleted_at is null and state <> 'receiving'`
const isCancellable = `${isVisible} and state in ('validating', 'in_progress', 'canceling')`
/** A batch whose input file is being checked has no lines yet. */
const cancelled = `
  state = case state when 'validating' then 'ended' else 'canceling' end,
  outcome = case state when 'validating' then 'cancelled' end,
  ended_at = case state when 'validating' then clock_timestamp() end,
  waiting_for = null, claim = null, owner = null,
  cancel_initiated_at = coalesce(cancel_initiated_at, clock_timestamp()), ready_at = clock_timestamp()`
const mine = `id = $1 and claim = $2 and deleted_at is null`

const insertText = `
  insert into batches (id, format, principal, key_id, kind, headers, metadata, input_file_id, output_expires_s,
                       state, claim, created_at, expires_at)
  select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, now, now + ${window} from clock_timestamp() as now`
const startText = `
  update batches set lines = $3, errored = $4, started_at = clock_timestamp(), ready_at = clock_timestamp(),
    claim = null, owner = null, ${endingOf({ done: '$4', lines: '$3', expired: '0' })}
  where ${mine} and state in ('receiving', 'validating')
  returning id`

/** Table `batches`, and new rows of `batch_lines`. */
export type BatchStore = ReturnType<typeof batchStore>

export function batchStore(pool: Pool) {
  const one = async (text: string, values: readonly unknown[]): Promise<BatchRow | undefined> =>
    (await pool.query<BatchRow>(text, [...values])).rows[0]

  const changes = async (text: string, values: readonly unknown[]): Promise<boolean> =>
    ((await pool.query(text, [...values])).rowCount ?? 0) > 0

  const onceIn = (request: OnceKey | undefined, work: (sql: RunSql) => Promise<string>): Promise<string> =>
    transaction(pool, client => {
      const sql = sqlOfClient(client)
      return once(sql, request, () => work(sql))
    })

  async function created(id: string): Promise<BatchRow> {
    const row = await one(`select ${columns} from batches where id = $1 and deleted_at is null`, [id])
    if (row) return row
    throw new AppError('conflict', 'the batch of this Idempotency-Key was deleted; use a new key')
  }

  return {
    /** Returns the number of batches of a principal that have not ended. */
    async open(principal: string): Promise<number> {
      const text = `
        select count(*)::integer as open from batches
        where principal = $1 and state <> 'ended' and deleted_at is null`
      return (await pool.query<{ open: number }>(text, [principal])).rows[0]?.open ?? 0
    },

    /**
     * Adds a batch; `claim` is that of the process that adds its lines. A repeated request gets the batch of the first. Errors:
     * `idempotency_mismatch`.
     */
    async insert(batch: NewBatch, claim: string | null, request?: OnceKey): Promise<BatchRow> {
      const id = await onceIn(request, async sql => {
        const { metadata = null, input_file_id = null, output_expires_s = null } = batch
        const about = [JSON.stringify(batch.headers), metadata && JSON.stringify(metadata)]
        const who = [batch.id, batch.format, batch.principal, batch.key_id, batch.kind]
        await sql(insertText, [...who, ...about, input_file_id, output_expires_s, batch.state, claim])
        return batch.id
      })
      return created(id)
    },

    /** Stores lines. Rejects with ClaimLost once another process has the batch. */
    addLines: ({ id, claim }: BatchClaim, lines: readonly NewLine[]): Promise<void> =>
      transaction(pool, async client => {
        await lockClaimed(client, { id, claim })
        await copyRows(client, {
          table: 'batch_lines',
          columns: [
            'batch_id',
            'seq',
            'custom_id',
            'request',
            'deployment',
            'upstream_model',
            'ready_at',
            'type',
            'result',
          ],
          rows: lines.map(line => lineRow(id, line)),
        })
      }),

    /** Deletes up to 1,000 lines of a claimed batch, such as those of a validation that was interrupted. Returns their number. */
    dropLines: ({ id, claim }: BatchClaim): Promise<number> =>
      transaction(pool, async client => {
        await lockClaimed(client, { id, claim })
        const text = `
          delete from batch_lines where batch_id = $1 and seq = any (array(
            select seq from batch_lines where batch_id = $1 limit 1000))`
        return (await client.query(text, [id])).rowCount ?? 0
      }),

    /**
     * Starts a batch whose lines are complete. Those with an error have ended. A repeated request gets the batch of the
     * first. Errors: `idempotency_mismatch`, ClaimLost.
     */
    async start(by: BatchClaim, given: NewLineCounts, request?: OnceKey): Promise<BatchRow> {
      const id = await onceIn(request, async sql => {
        const { rows } = await sql(startText, [by.id, by.claim, given.lines, given.errored])
        if (rows.length === 0) throw new ClaimLost(`batch ${by.id} has another owner`)
        return by.id
      })
      return created(id)
    },

    /** Hides a batch that could not be created. The cleanup deletes its lines. */
    discard: ({ id, claim }: BatchClaim): Promise<boolean> =>
      changes(`update batches set deleted_at = clock_timestamp() where ${mine}`, [id, claim]),

    /** Hides batches whose creating process has exited. */
    discardAbandoned: (): Promise<boolean> =>
      changes(
        `update batches set deleted_at = clock_timestamp()
         where state = 'receiving' and deleted_at is null and created_at < clock_timestamp() - ${receiving}`,
        [],
      ),

    find: ({ principal, format, id }: { principal: string; format: BatchFormat; id: string }) =>
      one(`select ${columns} from batches where id = $3 and principal = $1 and format = $2 and ${isVisible}`, [
        principal,
        format,
        id,
      ]),

    /** Returns batches, newest first. */
    async list({ principal, format, after, before, limit }: BatchPage): Promise<BatchRow[]> {
      // A page before a batch ends next to it, so it is read backwards.
      const isBackwards = before !== undefined && after === undefined
      const text = `
        select ${columns} from batches
        where principal = $1 and format = $2 and ${isVisible}
          and ($3::text is null or id < $3) and ($4::text is null or id > $4)
        order by id ${isBackwards ? 'asc' : 'desc'} limit $5`
      const { rows } = await pool.query<BatchRow>(text, [principal, format, after, before, limit])
      return isBackwards ? rows.toReversed() : rows
    },

    /** Undefined when the batch has ended or is ending. A repeat has no further effect. */
    cancel: ({ principal, format, id }: { principal: string; format: BatchFormat; id: string }) =>
      one(
        `update batches set ${cancelled}
         where id = $3 and principal = $1 and format = $2 and ${isCancellable}
         returning ${columns}`,
        [principal, format, id],
      ),

    /** Cancels all batches of a principal, of keys, or of everybody. Returns their number. */
    async cancelAll({ principal, keys }: BatchPayers): Promise<number> {
      const text = `
        update batches set ${cancelled}
        where ${isCancellable} and ($1::text is null or principal = $1) and ($2::text[] is null or key_id = any ($2))`
      return (await pool.query(text, [principal, keys])).rowCount ?? 0
    },

    /** Deletes a batch that has ended; false for any other. */
    remove: ({ principal, format, id }: { principal: string; format: BatchFormat; id: string }): Promise<boolean> =>
      changes(
        `update batches set deleted_at = clock_timestamp()
         where id = $3 and principal = $1 and format = $2 and ${isVisible} and state = 'ended'`,
        [principal, format, id],
      ),

    /** Delays all lines of a batch, and shows why. */
    async wait(id: string, { waitMs, reason }: { readonly waitMs: number; readonly reason: string }): Promise<void> {
      const text = `
        update batches set ready_at = clock_timestamp() + $2 * interval '1 millisecond', waiting_for = $3
        where id = $1 and state = 'in_progress'`
      await pool.query(text, [id, waitMs, reason])
    },

    /** Returns batches whose open lines must end now: those that were cancelled or have expired. */
    async ending(): Promise<readonly { readonly id: string; readonly type: 'canceled' | 'expired' }[]> {
      const text = `
        select id, case state when 'canceling' then 'canceled' else 'expired' end as type from batches
        where state <> 'ended' and deleted_at is null
          and (state = 'canceling' or (state = 'in_progress' and expires_at <= clock_timestamp()))
        limit 50`
      return (await pool.query<{ id: string; type: 'canceled' | 'expired' }>(text)).rows
    },

    /** Claims a batch whose input file must be checked or whose output files must be written. */
    async claimJob({
      claim,
      owner,
    }: {
      readonly claim: string
      readonly owner: string
    }): Promise<BatchJob | undefined> {
      const text = `
        update batches set claim = $1, owner = $2, ready_at = clock_timestamp() + ${lease}
        where id = (
          select id from batches
          where state in ('validating', 'finalizing') and deleted_at is null and ready_at <= clock_timestamp()
          order by ready_at limit 1 for update skip locked)
        returning ${columns}`
      const row = await one(text, [claim, owner])
      return row && { ...row, claim }
    },

    renewJob: ({ id, claim }: BatchClaim): Promise<boolean> =>
      changes(`update batches set ready_at = clock_timestamp() + ${lease} where ${mine}`, [id, claim]),

    /** Releases a job for another attempt after `waitMs`. */
    releaseJob: ({ id, claim }: BatchClaim, given: { readonly waitMs: number; readonly reason: string | null }) =>
      changes(
        `update batches set claim = null, owner = null, waiting_for = $4,
           ready_at = clock_timestamp() + $3 * interval '1 millisecond'
         where ${mine}`,
        [id, claim, given.waitMs, given.reason],
      ),

    /** Ends a batch whose input file was rejected. */
    fail: ({ id, claim }: BatchClaim, errors: readonly BatchError[]): Promise<boolean> =>
      changes(
        `update batches set state = 'ended', outcome = 'failed', errors = $3, ended_at = clock_timestamp(),
           claim = null, owner = null, waiting_for = null
         where ${mine} and state = 'validating'`,
        [id, claim, JSON.stringify(errors)],
      ),

    /** Ends a batch whose files are stored; false when the claim was lost. */
    finish: ({ id, claim }: BatchClaim, files: Pick<BatchRow, 'output_file_id' | 'error_file_id'>): Promise<boolean> =>
      changes(
        `update batches set state = 'ended', output_file_id = $3, error_file_id = $4, ended_at = clock_timestamp(),
           claim = null, owner = null, waiting_for = null
         where ${mine} and state = 'finalizing'`,
        [id, claim, files.output_file_id, files.error_file_id],
      ),
  }
}

async function lockClaimed(client: PoolClient, { id, claim }: BatchClaim): Promise<void> {
  const { rows } = await client.query(`select from batches where ${mine} for update`, [id, claim])
  if (rows.length === 0) throw new ClaimLost(`batch ${id} was deleted, cancelled or claimed by another process`)
}

function lineRow(batch_id: string, line: NewLine) {
  const row = { batch_id, seq: line.seq, custom_id: line.custom_id, deployment: null, upstream_model: null }
  if ('error' in line) return { ...row, request: null, ready_at: null, type: 'errored', result: line.error }
  // Before all lines that were tried before.
  return { ...row, ...line.target, request: line.request, ready_at: '-infinity', type: null, result: null }
}

interface Ending {
  /** SQL of the lines that have their result. */
  readonly done: string
  readonly lines: string
  /** SQL of those that expired. */
  readonly expired: string
}

/**
 * SQL that sets the state of a batch after a change of its counters. A batch with a result for each line ends; one of
 * OpenAI's format when its files are written.
 */
export function endingOf({ done, lines, expired }: Ending): string {
  const when = (value: string, otherwise: string) =>
    `case when ${done}::integer >= ${lines}::integer then ${value} else ${otherwise} end`
  const isFile = `format = 'openai'`
  return `
    state = ${when(`case when ${isFile} then 'finalizing' else 'ended' end`, `case state when 'canceling' then state else 'in_progress' end`)},
    outcome = ${when(`case when state = 'canceling' then 'cancelled' when ${expired}::integer > 0 then 'expired' else 'completed' end`, 'outcome')},
    finalizing_at = ${when(`case when ${isFile} then clock_timestamp() end`, 'finalizing_at')},
    ended_at = ${when(`case when ${isFile} then null else clock_timestamp() end`, 'ended_at')}`
}
