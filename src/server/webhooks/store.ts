import type { Kysely, Selectable } from 'kysely'
import type { Pool, PoolClient } from 'pg'
import type { Delivery, DeliveryStatus } from '../../contract/webhooks.ts'
import { transaction } from '../db/connect.ts'
import type { Database } from '../db/database.ts'
import type { BoundRow } from '../db/encrypted-rows.ts'
import type { WebhookDeliveryTable } from '../db/tables/triggers.ts'
import type { EncryptedValue } from '../platform/encryption.ts'
import { claimStore } from './claim-store.ts'

interface DeliveryFilter {
  /** Lists only deliveries of this owner; undefined lists all. */
  readonly owner: string | undefined
  readonly agent_id?: string
  readonly session_id?: string
  readonly request_id?: string
  readonly status?: DeliveryStatus
  readonly from: Date | undefined
  readonly to: Date | undefined
}

const columns = [
  'id',
  'agent_id',
  'delivery_id',
  'kind',
  'replay_of',
  'status',
  'session_id',
  'prompt_id',
  'event',
  'headers',
  'payload_bytes',
  'attempts',
  'error',
  'received_at',
  'finished_at',
] as const

/** Tables `webhook_deliveries`, `webhook_payloads` and `webhook_conversations`. */
export type DeliveryStore = ReturnType<typeof deliveryStore>

export function deliveryStore({ pool, db }: { pool: Pool; db: Kysely<Database> }) {
  return {
    ...claimStore(pool),

    /**
     * Returns the session of a conversation, undefined for a new one. Locks the conversation until the transaction
     * ends.
     */
    async lockConversation(on: PoolClient, { agentId, key }: Conversation): Promise<string | undefined> {
      const text = `
        insert into webhook_conversations as c (agent_id, key) values ($1, $2)
        on conflict (agent_id, key) do update set session_id = c.session_id
        returning session_id`
      const { rows } = await on.query<{ session_id: string | null }>(text, [agentId, key])
      return rows[0]?.session_id ?? undefined
    },

    async setConversation(
      on: PoolClient,
      { agentId, key, sessionId }: Conversation & { sessionId: string },
    ): Promise<void> {
      const text = 'update webhook_conversations set session_id = $3 where agent_id = $1 and key = $2'
      await on.query(text, [agentId, key, sessionId])
    },

    /** Runs `work` in a transaction and returns its result after the commit. */
    transaction: <T>(work: (client: PoolClient) => Promise<T>): Promise<T> => transaction(pool, work),

    /** Returns deliveries, newest first. */
    async list(
      { owner, request_id, from, to, ...filter }: DeliveryFilter,
      { after, limit }: { after: string | undefined; limit: number },
    ): Promise<Delivery[]> {
      let all = db.selectFrom('webhook_deliveries').select(columns)
      if (owner !== undefined) all = all.where('owner_id', '=', owner)
      if (request_id !== undefined) all = all.where('delivery_id', '=', request_id)
      for (const column of ['agent_id', 'session_id', 'status'] as const) {
        const value = filter[column]
        if (value !== undefined) all = all.where(column, '=', value)
      }
      if (from) all = all.where('received_at', '>=', from)
      if (to) all = all.where('received_at', '<', to)
      if (after !== undefined) all = all.where('id', '<', after)
      return (await all.orderBy('id', 'desc').limit(limit).execute()).map(toDelivery)
    },

    /** Returns a delivery with its payload, if that was stored. Owner undefined: of any owner. */
    async find(id: string, owner: string | undefined): Promise<StoredDelivery | undefined> {
      let mine = db
        .selectFrom('webhook_deliveries as d')
        .leftJoin('webhook_payloads as p', join =>
          join.onRef('p.agent_id', '=', 'd.agent_id').onRef('p.delivery_id', '=', 'd.delivery_id'),
        )
        .where('d.id', '=', id)
      if (owner !== undefined) mine = mine.where('d.owner_id', '=', owner)
      const row = await mine.selectAll('d').select(['p.version', 'p.sealed']).executeTakeFirst()
      if (!row) return undefined
      const { agent_id, delivery_id, version, sealed } = row
      const isStored = version !== null && sealed !== null
      return { delivery: toDelivery(row), payload: isStored ? { agent_id, delivery_id, version, sealed } : undefined }
    },
  }
}

interface StoredDelivery {
  readonly delivery: Delivery
  readonly payload: (BoundRow<'webhook_payloads'> & Pick<EncryptedValue, 'sealed'>) | undefined
}

/** Identifies the conversation of an issue or thread with an agent. */
export interface Conversation {
  readonly agentId: string
  readonly key: Buffer
}

const toDelivery = (row: Pick<Selectable<WebhookDeliveryTable>, (typeof columns)[number]>): Delivery => ({
  id: row.id,
  agent_id: row.agent_id,
  request_id: row.delivery_id,
  kind: row.kind,
  replay_of: row.replay_of,
  status: row.status,
  session_id: row.session_id,
  prompt_id: row.prompt_id,
  event: row.event,
  headers: row.headers,
  payload_bytes: row.payload_bytes,
  attempts: row.attempts,
  error: row.error,
  received_at: row.received_at.toISOString(),
  finished_at: row.finished_at?.toISOString() ?? null,
})
