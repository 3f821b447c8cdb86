import type { Pool, PoolClient } from 'pg'
import type { WebhookEndpoint } from '../../contract/webhook-endpoints.ts'
import { transaction } from '../db/connect.ts'

type Queryable = Pool | PoolClient

/** Row of an endpoint. */
export interface EndpointRow extends Omit<WebhookEndpoint, 'created_at' | 'updated_at' | 'failing_since'> {
  readonly failing_since: Date | null
  readonly created_at: Date
  readonly updated_at: Date
}

/** Fields that callers may set. */
export interface EndpointValues
  extends Pick<EndpointRow, 'owner_id' | 'url' | 'description' | 'events' | 'agent_ids' | 'status' | 'run_as_key_id'> {
  readonly id: string
}

/** Row of a secret. */
export interface SecretRow {
  readonly endpoint_id: string
  readonly id: string
  readonly version: number
  readonly sealed: Buffer
  readonly key_id: string
}

interface Which {
  readonly id: string
  /** Only endpoints of this owner; undefined: all. */
  readonly owner: string | undefined
}

const columns =
  'id, owner_id, url, description, events, agent_ids, status, disabled_reason, run_as_key_id, failing_since, created_at, updated_at'

/** SQL that is true while the key that set up endpoint `e` is valid. */
export const isKeyValid = '(e.run_as_key_id is null or is_key_valid(e.run_as_key_id))'

const ofOwner = '($2::text is null or owner_id = $2)'

/** Tables `webhook_endpoints` and `webhook_endpoint_secrets`. */
export type EndpointStore = ReturnType<typeof endpointStore>

export function endpointStore(pool: Pool) {
  return {
    transaction: <T>(work: (client: PoolClient) => Promise<T>): Promise<T> => transaction(pool, work),

    async find({ id, owner }: Which, on: Queryable = pool): Promise<EndpointRow | undefined> {
      const text = `select ${columns} from webhook_endpoints where id = $1 and ${ofOwner}`
      return (await on.query<EndpointRow>(text, [id, owner])).rows[0]
    },

    /**
     * Like `find`, and locks the row until the transaction ends. To avoid deadlocks, a transaction must lock the
     * endpoint first, with the final strength, and its other rows afterwards.
     */
    async lock(
      on: PoolClient,
      { id, owner }: Which,
      to: 'change' | 'remove' = 'change',
    ): Promise<EndpointRow | undefined> {
      const strength = to === 'remove' ? 'update' : 'no key update'
      const text = `select ${columns} from webhook_endpoints where id = $1 and ${ofOwner} for ${strength}`
      return (await on.query<EndpointRow>(text, [id, owner])).rows[0]
    },

    /** Returns endpoints, newest first. */
    async list(owner: string | undefined, page: { after: string | undefined; limit: number }): Promise<EndpointRow[]> {
      const text = `
        select ${columns} from webhook_endpoints where ($1::text is null or id < $1) and ${ofOwner} order by id desc limit $3`
      return (await pool.query<EndpointRow>(text, [page.after, owner, page.limit])).rows
    },

    async insert(on: PoolClient, values: EndpointValues): Promise<EndpointRow> {
      const text = `
        insert into webhook_endpoints (id, owner_id, url, description, events, agent_ids, status, run_as_key_id)
        values ($1, $2, $3, $4, $5, $6, $7, $8) returning ${columns}`
      const { id, owner_id, url, description, events, agent_ids, status, run_as_key_id } = values
      const row = [id, owner_id, url, description, events, agent_ids, status, run_as_key_id]
      return written((await on.query<EndpointRow>(text, row)).rows)
    },

    /** Updates an endpoint. Activating it resets its failures. */
    async update(on: PoolClient, values: EndpointValues): Promise<EndpointRow> {
      const text = `
        update webhook_endpoints
        set url = $2, description = $3, events = $4, agent_ids = $5, status = $6, run_as_key_id = $7,
            updated_at = clock_timestamp(),
            disabled_reason = case when $6 = 'disabled' then disabled_reason end,
            failing_since = case when $6 = status then failing_since end
        where id = $1 returning ${columns}`
      const { id, url, description, events, agent_ids, status, run_as_key_id } = values
      const row = [id, url, description, events, agent_ids, status, run_as_key_id]
      return written((await on.query<EndpointRow>(text, row)).rows)
    },

    /** Returns and locks active endpoints whose key was revoked or has expired. */
    async lockWithInvalidKey(on: PoolClient, limit: number): Promise<EndpointRow[]> {
      const text = `
        select ${columns} from webhook_endpoints e where status = 'active' and not ${isKeyValid}
        order by id limit $1 for no key update skip locked`
      return (await on.query<EndpointRow>(text, [limit])).rows
    },

    async disable(on: PoolClient, id: string, reason: string): Promise<EndpointRow> {
      const text = `
        update webhook_endpoints set status = 'disabled', disabled_reason = $2, updated_at = clock_timestamp()
        where id = $1 returning ${columns}`
      return written((await on.query<EndpointRow>(text, [id, reason])).rows)
    },

    async remove(on: PoolClient, id: string): Promise<void> {
      await on.query('delete from webhook_endpoints where id = $1', [id])
    },

    async addSecret(on: PoolClient, { endpoint_id, id, version, sealed, key_id }: SecretRow): Promise<void> {
      const text = `
        insert into webhook_endpoint_secrets (endpoint_id, id, version, sealed, key_id) values ($1, $2, $3, $4, $5)`
      await on.query(text, [endpoint_id, id, version, sealed, key_id])
    },

    /** Limits the current secrets to `grace` from now, such as `24h`; never extends one. */
    async endSecrets(on: PoolClient, endpointId: string, grace: string): Promise<void> {
      await on.query(
        'delete from webhook_endpoint_secrets where endpoint_id = $1 and valid_until <= clock_timestamp()',
        [endpointId],
      )
      const text = `
        update webhook_endpoint_secrets
        set valid_until = least(valid_until, clock_timestamp() + $2::interval) where endpoint_id = $1`
      await on.query(text, [endpointId, grace])
    },

    /** Returns the valid secrets, newest first. */
    async secrets(endpointId: string): Promise<SecretRow[]> {
      const text = `
        select endpoint_id, id, version, sealed, key_id from webhook_endpoint_secrets
        where endpoint_id = $1 and (valid_until is null or valid_until > clock_timestamp()) order by id desc limit 10`
      return (await pool.query<SecretRow>(text, [endpointId])).rows
    },
  }
}

function written<T>([row]: T[]): T {
  if (!row) throw new Error('statement returned no row')
  return row
}

/** Returns the public record of an endpoint. */
export const toEndpoint = ({ failing_since, created_at, updated_at, ...row }: EndpointRow): WebhookEndpoint => ({
  ...row,
  failing_since: failing_since?.toISOString() ?? null,
  created_at: created_at.toISOString(),
  updated_at: updated_at.toISOString(),
})
