import { isDeepStrictEqual } from 'node:util'
import type { PoolClient } from 'pg'
import type {
  EndpointCreate,
  EndpointDelivery,
  EndpointTestResult,
  EndpointUpdate,
  ShownEndpoint,
  WebhookEndpoint,
} from '../../contract/webhook-endpoints.ts'
import type { AgentStore } from '../agents/store.ts'
import type { Audit } from '../audit/audit.ts'
import type { RowCipher } from '../db/encrypted-rows.ts'
import { once, sqlOfClient } from '../db/once.ts'
import type { Actor, Caller } from '../http/caller.ts'
import type { Idempotency } from '../http/idempotency.ts'
import { runAsOf } from '../http/reach.ts'
import type { ValueCipher } from '../platform/encryption.ts'
import { AppError, invalid, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { Outbound } from '../platform/outbound.ts'
import { newSecret } from '../platform/webhook-signature.ts'
import type { DeliveryStore } from './delivery-store.ts'
import { type EndpointRow, type EndpointStore, type EndpointValues, toEndpoint } from './endpoint-store.ts'
import type { Dispatch, MessageOf } from './message.ts'
import { publicFields } from './public-fields.ts'

interface Deps {
  readonly store: EndpointStore
  readonly deliveries: DeliveryStore
  readonly agents: Pick<AgentStore, 'find'>
  readonly dispatch: Dispatch
  readonly messageOf: MessageOf
  readonly cipher: RowCipher<'webhook_endpoint_secrets'>
  /** Encrypts responses that are stored for a repeat of the request, because they contain a secret. */
  readonly answerCipher: ValueCipher
  /** The current guard. */
  readonly outbound: () => Pick<Outbound, 'judge' | 'lists'>
  readonly audit: Audit
}

interface By {
  readonly caller: Caller
  readonly actor: Actor
  readonly idempotency?: Idempotency | undefined
}

interface DeliveriesOf {
  readonly state: EndpointDelivery['state'] | undefined
  readonly sessionId: string | undefined
  readonly after: string | undefined
  readonly limit: number
}

const defaultGrace = '24h'

/** Rules of webhook endpoints: who may create which, allowed addresses, and rotation of secrets. */
export type Endpoints = ReturnType<typeof createEndpoints>

export function createEndpoints(deps: Deps) {
  const { store, deliveries, agents, dispatch, messageOf, cipher, audit } = deps

  async function find(id: string, { ownerScope: owner }: Caller): Promise<EndpointRow> {
    const row = await store.find({ id, owner })
    if (!row) throw notFound('webhook endpoint', id)
    return row
  }

  /** Locks and returns an endpoint that the caller may change. */
  async function locked(client: PoolClient, id: string, caller: Caller, to?: 'remove'): Promise<EndpointRow> {
    const row = await store.lock(client, { id, owner: caller.ownerScope }, to)
    if (!row) throw notFound('webhook endpoint', id)
    rejectAllOwners(row, caller)
    return row
  }

  /** Checks the URL. The address is checked again when its name is resolved. Security: S20, S21, S24. */
  function checkUrl(url: string): void {
    const outbound = deps.outbound()
    const problem = outbound.judge(url)
    if (problem !== undefined) throw invalid(`url is not allowed: ${problem}`)
    if (!/^https:/i.test(url) && !outbound.lists(url))
      throw invalid('url must start with https://; http:// is allowed only for addresses in outbound.allow')
  }

  async function check({ url, agent_ids }: EndpointUpdate, caller: Caller): Promise<void> {
    if (url !== undefined) checkUrl(url)
    for (const id of agent_ids ?? []) {
      if (!(await agents.find(id, caller.ownerScope))) throw notFound('agent', id)
    }
  }

  async function addSecret(client: PoolClient, endpoint_id: string): Promise<string> {
    const secret = newSecret()
    const bound = { endpoint_id, id: newId('whs'), version: 1 }
    await store.addSecret(client, { ...bound, ...cipher.encrypt(secret, bound) })
    return secret
  }

  function record(client: PoolClient, action: string, { actor, before, after }: Change): Promise<void> {
    const { id = '', owner_id = null } = after ?? before ?? {}
    const fields = { before: before && publicFields(before), after: after && publicFields(after) }
    const entry = { actor, action: `webhook_endpoint.${action}`, objectId: id, ownerId: owner_id, ...fields }
    return audit.record(sqlOfClient(client), entry)
  }

  /** Runs `work` once per idempotency key; the response contains a secret and is stored encrypted. */
  const shownOnce = ({ idempotency }: By, work: (client: PoolClient) => Promise<ShownEndpoint>) =>
    store.transaction(client =>
      once(sqlOfClient(client), idempotency && { ...idempotency, cipher: deps.answerCipher }, () => work(client)),
    )

  return {
    get: async (id: string, caller: Caller): Promise<WebhookEndpoint> => toEndpoint(await find(id, caller)),

    async list(caller: Caller, page: { after: string | undefined; limit: number }): Promise<WebhookEndpoint[]> {
      return (await store.list(caller.ownerScope, page)).map(toEndpoint)
    },

    async create(write: EndpointCreate, by: By): Promise<ShownEndpoint> {
      const { caller, actor } = by
      await check(write, caller)
      const defaults = { description: null, events: [], agent_ids: [], status: 'active' as const }
      const owned = { id: newId('whe'), owner_id: ownerOf(write, caller), run_as_key_id: runAsOf(caller) }
      const values = { ...defaults, ...write, ...owned }
      rejectAllOwners(values, caller)
      return shownOnce(by, async client => {
        const after = await store.insert(client, values)
        const secret = await addSecret(client, after.id)
        await record(client, 'create', { actor, after })
        return { ...toEndpoint(after), secret }
      })
    },

    async update(id: string, write: EndpointUpdate, { caller, actor }: By): Promise<WebhookEndpoint> {
      await find(id, caller)
      await check(write, caller)
      const after = await store.transaction(async client => {
        const before = await locked(client, id, caller)
        const values: EndpointValues = { ...before, ...write }
        rejectAllOwners(values, caller)
        const run_as_key_id = isSameWork(before, values) ? before.run_as_key_id : runAsOf(caller)
        const changed = await store.update(client, { ...values, run_as_key_id })
        await record(client, 'update', { actor, before, after: changed })
        return changed
      })
      // Events of a pause are found here, because the sweep every 10 s does not go back so far.
      if (write.status === 'active') await deliveries.markAllReady(undefined)
      return toEndpoint(after)
    },

    async remove(id: string, { caller, actor }: By): Promise<void> {
      await store.transaction(async client => {
        const before = await locked(client, id, caller, 'remove')
        await store.remove(client, id)
        await record(client, 'delete', { actor, before })
      })
    },

    async rotate(id: string, grace: string | undefined, by: By): Promise<ShownEndpoint> {
      return shownOnce(by, async client => {
        const row = await locked(client, id, by.caller)
        await store.endSecrets(client, id, grace ?? defaultGrace)
        const secret = await addSecret(client, id)
        await record(client, 'rotate', { actor: by.actor, before: row, after: row })
        return { ...toEndpoint(row), secret }
      })
    },

    /** Sends one test message now, whatever the status; it is not recorded. */
    async test(id: string, caller: Caller): Promise<EndpointTestResult> {
      const row = await find(id, caller)
      rejectAllOwners(row, caller)
      const message = { id: newId('evt'), type: 'webhook.test', at: new Date(), data: { endpoint_id: id } }
      const { isDelivered, httpStatus, error, durationMs } = await dispatch(row, message)
      return { ok: isDelivered, http_status: httpStatus, error, duration_ms: durationMs }
    },

    async deliveriesOf(id: string, caller: Caller, filter: DeliveriesOf): Promise<EndpointDelivery[]> {
      await find(id, caller)
      return deliveries.list({ endpointId: id, ...filter })
    },

    /** Sends an event again now, independently of the order. */
    async replay(id: string, deliveryId: string, caller: Caller): Promise<EndpointDelivery> {
      const row = await find(id, caller)
      rejectAllOwners(row, caller)
      const before = await deliveries.find(id, deliveryId)
      if (!before) throw notFound('delivery', deliveryId)
      if (before.state === 'pending')
        throw new AppError('conflict', `delivery ${deliveryId} is still pending; replay it after its last attempt`)
      const event = await deliveries.event(before.session_id, before.seq)
      if (!event) throw new AppError('conflict', `event of delivery ${deliveryId} is no longer stored`)
      const sending = await dispatch(row, await messageOf(event))
      // A delivered event stays delivered when its replay fails.
      const state = sending.isDelivered ? 'delivered' : before.state
      const attempt = { event, sending, state, attempts: before.attempts + 1, retryMs: null }
      await store.transaction(client => deliveries.log(client, { endpoint_id: id, id: deliveryId }, attempt))
      return (await deliveries.find(id, deliveryId)) ?? before
    },
  }
}

/** Returns the owner whose sessions a new endpoint subscribes to; null: all owners. */
function ownerOf({ owner_id }: EndpointCreate, { ownerScope }: Caller): string | null {
  if (ownerScope !== undefined && owner_id !== undefined && owner_id !== ownerScope)
    throw new AppError('forbidden', `owner_id must be ${ownerScope}, the owner of this key`)
  return owner_id ?? ownerScope ?? null
}

/** Throws `forbidden` for an endpoint of all owners unless the caller is an admin. */
function rejectAllOwners({ owner_id, agent_ids }: Pick<EndpointValues, 'owner_id' | 'agent_ids'>, { role }: Caller) {
  if (role !== 'admin' && owner_id === null && agent_ids.length === 0)
    throw new AppError('forbidden', 'endpoints for all owners require an admin key; set agent_ids or owner_id')
}

/** True unless a change affects what is sent: url, events, agents, or enabling a disabled endpoint. */
const isSameWork = (one: EndpointValues, other: EndpointValues): boolean =>
  isDeepStrictEqual([one.url, one.events, one.agent_ids], [other.url, other.events, other.agent_ids]) &&
  !(one.status === 'disabled' && other.status === 'active')

interface Change {
  readonly actor: Actor
  readonly before?: EndpointRow
  readonly after?: EndpointRow
}
