import type { Pool, PoolClient } from 'pg'
import type { Delivery, DeliveryStatus } from '../../contract/webhooks.ts'
import { isUniqueViolation } from '../db/connect.ts'
import type { EncryptedValue } from '../platform/encryption.ts'

/** Row of a delivery that a request claims. */
export interface NewDelivery {
  readonly agent_id: string
  readonly delivery_id: string
  readonly id: string
  readonly owner_id: string
  readonly kind: Delivery['kind']
  readonly replay_of: string | null
  /** Random id of this attempt. */
  readonly claim: string
  readonly event: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly payload_bytes: number
  /** Null when it is not stored. */
  readonly payload: EncryptedPayload | null
  /** SHA-256 of what the sender signed; null where equal bodies are separate deliveries. */
  readonly signed_digest: Buffer | null
}

/** A stored payload. */
interface EncryptedPayload extends EncryptedValue {
  readonly version: number
}

/** Identifies the claim of an attempt on a delivery. */
export type ClaimOf = Pick<NewDelivery, 'agent_id' | 'delivery_id' | 'claim'>

/** Result of a claim: `id` is the claimed row; the others report the state of an existing delivery. */
export type Claimed =
  | { readonly got: 'ours'; readonly id: string }
  | { readonly got: 'finished'; readonly session_id: string }
  | { readonly got: 'processing' }
  | { readonly got: 'limited' }

interface FinalState {
  readonly status: Exclude<DeliveryStatus, 'processing'>
  readonly session_id?: string
  readonly prompt_id?: string
  readonly error?: string
}

/**
 * SQL: the delivery id can be claimed again, because the delivery failed, is older than 7 days, or its claim expired.
 */
const isFree = `(status = 'failed' or received_at < clock_timestamp() - interval '7 days'
  or (status = 'processing' and claimed_until < clock_timestamp()))`

/** Stores the payload of the delivery in the CTE `ours`. */
const storePayload = `
  insert into webhook_payloads (agent_id, delivery_id, version, sealed, key_id)
  select agent_id, delivery_id, $12, $13, $14 from ours where $13::bytea is not null
  on conflict (agent_id, delivery_id) do update
  set version = excluded.version, sealed = excluded.sealed, key_id = excluded.key_id`

/** The limit counts deliveries of the last minute; undefined: no limit. */
const insertText = `
  with ours as (
    insert into webhook_deliveries (agent_id, delivery_id, id, owner_id, kind, replay_of, claim, event, headers,
      payload_bytes, signed_digest, status, claimed_until)
    select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'processing', clock_timestamp() + interval '60 seconds'
    where $15::int is null or $15 > (
      select count(*) from webhook_deliveries
      where agent_id = $1 and received_at > clock_timestamp() - interval '1 minute')
    on conflict do nothing
    returning agent_id, delivery_id, id
  ), kept as (${storePayload})
  select id from ours`

/** Rows with this delivery id or this signed digest; rows that are not free first. */
const findText = `
  select status, session_id, delivery_id = $2 as is_named, ${isFree} as is_free from webhook_deliveries
  where agent_id = $1 and (delivery_id = $2 or signed_digest = $3)
  order by is_free, is_named desc`

/** Also ends the claim of an abandoned attempt, so that its process can no longer finish it. */
const releaseDigestText = `
  update webhook_deliveries
  set signed_digest = null, claim = null, claimed_until = null,
      error = case when status = 'processing' then 'abandoned; sent again under another delivery id' else error end,
      status = case when status = 'processing' then 'failed' else status end
  where agent_id = $1 and delivery_id <> $2 and signed_digest = $3 and ${isFree}`

/** A row older than 7 days becomes a new delivery; a failed or abandoned one is retried. */
const takeOverText = `
  with ours as (
    update webhook_deliveries
    set id = case when received_at < clock_timestamp() - interval '7 days' then $3 else id end,
        received_at = case when received_at < clock_timestamp() - interval '7 days' then clock_timestamp() else received_at end,
        attempts = case when received_at < clock_timestamp() - interval '7 days' then 1 else attempts + 1 end,
        owner_id = $4, kind = $5, replay_of = $6, claim = $7, event = $8, headers = $9, payload_bytes = $10,
        signed_digest = $11, status = 'processing', claimed_until = clock_timestamp() + interval '60 seconds',
        session_id = '', prompt_id = null, error = null, finished_at = null
    where agent_id = $1 and delivery_id = $2 and ${isFree}
    returning agent_id, delivery_id, id
  ), dropped as (
    delete from webhook_payloads p using ours
    where p.agent_id = ours.agent_id and p.delivery_id = ours.delivery_id and $13::bytea is null
  ), kept as (${storePayload})
  select id from ours`

/** Tables `webhook_deliveries` and `webhook_payloads`: claims of deliveries. */
export function claimStore(pool: Pool) {
  return {
    /**
     * Claims a delivery for 60 s, unless its id or signed digest is claimed or was delivered. Of concurrent requests
     * one gets the claim.
     */
    async claim(row: NewDelivery, rpmLimit: number | undefined): Promise<Claimed> {
      const values = valuesOf(row)
      const query = { name: 'claim_delivery', text: insertText, values: [...values, rpmLimit] }
      const inserted = await pool.query<{ id: string }>(query)
      if (inserted.rows[0]) return { got: 'ours', ...inserted.rows[0] }
      const signed = [row.agent_id, row.delivery_id, row.signed_digest]
      const { rows: found } = await pool.query<Found>(findText, signed)
      const [first] = found
      if (!first) return { got: 'limited' }
      if (!first.is_free) {
        return first.status === 'processing' ? { got: 'processing' } : { got: 'finished', session_id: first.session_id }
      }
      await pool.query(releaseDigestText, signed)
      const isNamed = found.some(({ is_named }) => is_named)
      const taken = await (isNamed
        ? pool.query<{ id: string }>(takeOverText, values).catch(noneIfClaimed)
        : pool.query<{ id: string }>(query))
      return taken.rows[0] ? { got: 'ours', ...taken.rows[0] } : { got: 'processing' }
    },

    /** Finishes a delivery. Returns false when the claim has ended or another attempt took it over. */
    async finish(
      { agent_id, delivery_id, claim }: ClaimOf,
      { status, session_id = '', prompt_id, error }: FinalState,
      on: Pool | PoolClient = pool,
    ): Promise<boolean> {
      const text = `
        update webhook_deliveries
        set status = $4, session_id = $5, prompt_id = $6, error = $7, claim = null, claimed_until = null,
            finished_at = clock_timestamp()
        where agent_id = $1 and delivery_id = $2 and claim = $3`
      const values = [agent_id, delivery_id, claim, status, session_id, prompt_id, error]
      return (await on.query({ name: 'finish_delivery', text, values })).rowCount === 1
    },
  }
}

interface Found {
  readonly status: DeliveryStatus
  readonly session_id: string
  readonly is_named: boolean
  readonly is_free: boolean
}

const valuesOf = (row: NewDelivery): unknown[] => [
  row.agent_id,
  row.delivery_id,
  row.id,
  row.owner_id,
  row.kind,
  row.replay_of,
  row.claim,
  row.event,
  JSON.stringify(row.headers),
  row.payload_bytes,
  row.signed_digest,
  row.payload?.version,
  row.payload?.sealed,
  row.payload?.key_id,
]

/** Returns no row when a concurrent request with the same signature was first. */
function noneIfClaimed(error: unknown): { readonly rows: readonly { id: string }[] } {
  if (isUniqueViolation(error)) return { rows: [] }
  throw error
}
