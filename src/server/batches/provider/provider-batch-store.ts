import type { Pool } from 'pg'
import type { Protocol } from '../../config/protocols.ts'
import type { BatchProvider, BatchTarget } from '../../gateway/batching/batch-api.ts'
import type { ClaimedLine } from '../line-store.ts'

/** A batch at a provider: requests of one batch for one model. */
export interface ProviderBatch extends BatchTarget {
  readonly id: string
  readonly batch_id: string
  readonly protocol: Protocol | null
  readonly state: 'collecting' | 'submitting' | 'in_progress'
  readonly provider_id: string | null
  readonly lines: number
  readonly polls: number
  readonly is_cancelled: boolean
  readonly created_at: Date
  readonly submitted_at: Date | null
}

/** Claimed by this process, with what became of its batch. */
export interface ClaimedProviderBatch extends ProviderBatch {
  readonly claim: string
  /** True when its batch was cancelled or has expired. */
  readonly is_closing: boolean
  /** True when its provider must have ended it long ago. */
  readonly is_overdue: boolean
}

/** A line that a provider batch has. */
export interface ProviderLine extends ClaimedLine {
  readonly prepared: string | null
  readonly reserved_usd: string | null
  readonly request_id: string | null
  /** When its batch ends. */
  readonly expires_at: Date
}

/** What a line needs when its answer arrives. */
export interface PreparedLine {
  readonly seq: number
  readonly request_id: string
  readonly prepared: string | null
  readonly reserved_usd: string | null
}

/** Returns the provider of a batch; undefined when its deployment was removed. */
export type ProviderOf = (batch: Pick<ProviderBatch, 'deployment' | 'protocol'>) => BatchProvider | undefined

type Claimed = Pick<ClaimedProviderBatch, 'id' | 'batch_id' | 'claim'>

export interface Release {
  readonly waitMs: number
  /** True for a failure that counts. */
  readonly isTry: boolean
  /** True: it is called singly from now on. */
  readonly isSingle: boolean
}

const lease = `clock_timestamp() + interval '15 seconds'`
/** The provider's window begins after that of the batch. */
const overdue = `interval '26 hours'`
const columns = `
  p.id, p.batch_id, p.deployment, p.upstream_model, p.protocol, p.state, p.provider_id, p.lines, p.polls, p.is_cancelled,
  p.created_at, p.submitted_at`
const pageLines = 100
const pageBytes = 8 * 1024 * 1024
const mine = `id = $1 and claim = $2`
const lineColumns = `
  l.batch_id, l.seq, l.claim, l.request, l.tries, l.prepared, l.reserved_usd, l.request_id, b.format, b.kind, b.principal,
  b.key_id, b.headers, b.expires_at`
const isClosing = `(b.state = 'canceling' or b.expires_at <= clock_timestamp())`

/** Table `provider_batches`, and the lines of `batch_lines` that they have. */
export type ProviderBatchStore = ReturnType<typeof providerBatchStore>

export function providerBatchStore(pool: Pool) {
  const changes = async (text: string, values: readonly unknown[]): Promise<boolean> =>
    ((await pool.query(text, [...values])).rowCount ?? 0) > 0

  return {
    /** Returns a target that lines of a batch wait for. */
    async waiting(): Promise<(BatchTarget & Pick<ProviderBatch, 'batch_id'>) | undefined> {
      const text = `
        select l.batch_id, l.deployment, l.upstream_model from (
          select id from batches
          where state = 'in_progress' and deleted_at is null and ready_at <= clock_timestamp()
            and expires_at > clock_timestamp()
          order by random() limit 50
        ) b cross join lateral (
          select batch_id, deployment, upstream_model from batch_lines
          where batch_id = b.id and ready_at <= clock_timestamp() and deployment is not null
          order by ready_at, seq limit 1
        ) l limit 1`
      return (await pool.query<BatchTarget & Pick<ProviderBatch, 'batch_id'>>(text)).rows[0]
    },

    /** Inserts a provider batch that this process collects. */
    async insert(given: BatchTarget & Claimed): Promise<void> {
      const text = `
        insert into provider_batches (id, batch_id, deployment, upstream_model, state, claim, ready_at)
        values ($1, $2, $3, $4, 'collecting', $5, ${lease})`
      await pool.query(text, [given.id, given.batch_id, given.deployment, given.upstream_model, given.claim])
    },

    renew: ({ id, claim }: Claimed): Promise<boolean> =>
      changes(`update provider_batches set ready_at = ${lease} where ${mine} and state <> 'ended'`, [id, claim]),

    /** Adds waiting lines to a provider batch that this process collects: at most 100, and about 8 MB. Returns them. */
    async take(given: BatchTarget & Claimed): Promise<ProviderLine[]> {
      const text = `
        with mine as materialized (
          select from provider_batches where id = $1 and claim = $2 and state = 'collecting' for update
        ), ready as (
          select l.batch_id, l.seq, sum(octet_length(l.request)) over (order by l.ready_at, l.seq) - octet_length(l.request) as bytes_before
          from (
            select l.* from batch_lines l join batches b on b.id = l.batch_id
            where exists (select from mine) and l.batch_id = $3 and l.ready_at <= clock_timestamp()
              and l.deployment is not null and l.deployment = $4 and l.upstream_model = $5
              and b.state = 'in_progress' and b.ready_at <= clock_timestamp() and b.expires_at > clock_timestamp()
            order by l.ready_at, l.seq limit ${pageLines}
          ) l
        ), picked as materialized (
          select l.batch_id, l.seq from ready r join batch_lines l on l.batch_id = r.batch_id and l.seq = r.seq
          where r.bytes_before < ${pageBytes} and l.ready_at <= clock_timestamp() for update of l skip locked
        )
        update batch_lines l set claim = $1, owner = null, ready_at = 'infinity'
        from picked p join batches b on b.id = p.batch_id
        where l.batch_id = p.batch_id and l.seq = p.seq
        returning ${lineColumns}`
      const { id, claim, batch_id, deployment, upstream_model } = given
      return (await pool.query<ProviderLine>(text, [id, claim, batch_id, deployment, upstream_model])).rows
    },

    /** Stores what lines need when their answers arrive. */
    async prepare({ id, batch_id }: Claimed, lines: readonly PreparedLine[]): Promise<void> {
      const text = `
        update batch_lines l set request_id = g.request_id, prepared = g.prepared, reserved_usd = g.reserved_usd::numeric
        from unnest($3::integer[], $4::text[], $5::text[], $6::text[]) as g (seq, request_id, prepared, reserved_usd)
        where l.batch_id = $2 and l.seq = g.seq and l.claim = $1 and l.ready_at is not null`
      await pool.query(text, [
        id,
        batch_id,
        lines.map(({ seq }) => seq),
        lines.map(({ request_id }) => request_id),
        lines.map(({ prepared }) => prepared),
        lines.map(({ reserved_usd }) => reserved_usd),
      ])
    },

    /** Notes that the provider may have the batch from now on; false when it must not be submitted any more. */
    submitting: ({ id, claim }: Claimed, given: { readonly lines: number; readonly protocol: Protocol }) =>
      changes(
        `update provider_batches p set state = 'submitting', lines = $3, protocol = $4, submitted_at = clock_timestamp()
         from batches b
         where p.id = $1 and p.claim = $2 and p.state = 'collecting' and b.id = p.batch_id and b.state = 'in_progress'`,
        [id, claim, given.lines, given.protocol],
      ),

    /** Stores the provider's id of a submitted batch, which is polled after the wait. */
    submitted: ({ id, claim }: Claimed, given: { readonly providerId: string; readonly waitMs: number }) =>
      changes(
        `update provider_batches set state = 'in_progress', provider_id = $3, claim = null,
           ready_at = clock_timestamp() + $4 * interval '1 millisecond'
         where ${mine} and state = 'submitting'`,
        [id, claim, given.providerId, given.waitMs],
      ),

    /** Claims a provider batch that is due, or whose batch is ending. */
    async claim(claim: string): Promise<ClaimedProviderBatch | undefined> {
      const text = `
        update provider_batches p set claim = $1, ready_at = ${lease} from batches b
        where b.id = p.batch_id and p.id = (
          select p.id from provider_batches p join batches b on b.id = p.batch_id
          where p.state <> 'ended'
            and (p.ready_at <= clock_timestamp()
                 or (p.state = 'in_progress' and p.claim is null and not p.is_cancelled and ${isClosing}))
          order by p.ready_at limit 1 for update of p skip locked)
        returning ${columns}, p.claim, ${isClosing} as is_closing,
                  p.created_at < clock_timestamp() - ${overdue} as is_overdue`
      return (await pool.query<ClaimedProviderBatch>(text, [claim])).rows[0]
    },

    /** Schedules the next poll. */
    poll: ({ id, claim }: Claimed, given: { readonly waitMs: number; readonly isCancelled: boolean }) =>
      changes(
        `update provider_batches set claim = null, polls = polls + 1, is_cancelled = is_cancelled or $4,
           ready_at = clock_timestamp() + $3 * interval '1 millisecond'
         where ${mine}`,
        [id, claim, given.waitMs, given.isCancelled],
      ),

    /** Ends a provider batch; one that was never submitted is deleted. */
    async end({ id, claim }: Claimed): Promise<void> {
      const text = `
        with unsent as (delete from provider_batches where ${mine} and state = 'collecting')
        update provider_batches set state = 'ended', claim = null, ended_at = clock_timestamp()
        where ${mine} and state <> 'collecting'`
      await pool.query(text, [id, claim])
    },

    /** True when a provider batch has this id of the provider. */
    async isKnown(providerId: string): Promise<boolean> {
      const { rows } = await pool.query('select from provider_batches where provider_id = $1 limit 1', [providerId])
      return rows.length > 0
    },

    /** Returns those of the given lines that a provider batch has and that have no result. */
    async linesOf({ id, batch_id }: Claimed, seqs: readonly number[]): Promise<ProviderLine[]> {
      const text = `
        select ${lineColumns} from batch_lines l join batches b on b.id = l.batch_id
        where l.batch_id = $2 and l.claim = $1 and l.ready_at is not null and l.seq = any ($3::integer[])`
      return (await pool.query<ProviderLine>(text, [id, batch_id, seqs])).rows
    },

    /** Returns up to `limit` lines that a provider batch has and that have no result. */
    async openLines({ id, batch_id }: Claimed, limit: number): Promise<Pick<ProviderLine, 'seq' | 'request_id'>[]> {
      const text = `
        select seq, request_id from batch_lines
        where batch_id = $2 and claim = $1 and ready_at is not null and deployment is not null limit $3`
      return (await pool.query<Pick<ProviderLine, 'seq' | 'request_id'>>(text, [id, batch_id, limit])).rows
    },

    /** Releases lines of a provider batch. */
    async release({ id, batch_id }: Claimed, seqs: readonly number[], given: Release): Promise<void> {
      const text = `
        update batch_lines
        set claim = null, request_id = null, prepared = null, reserved_usd = null, tries = tries + $5,
            deployment = case when $6 then null else deployment end,
            upstream_model = case when $6 then null else upstream_model end,
            ready_at = clock_timestamp() + $4 * interval '1 millisecond'
        where batch_id = $2 and claim = $1 and ready_at is not null and seq = any ($3::integer[])`
      await pool.query(text, [id, batch_id, seqs, given.waitMs, given.isTry ? 1 : 0, given.isSingle])
    },
  }
}
