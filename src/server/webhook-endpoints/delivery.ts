import { randomUUID } from 'node:crypto'
import type { PoolClient } from 'pg'
import type { Audit } from '../audit/audit.ts'
import { type ClaimedWork, createClaimedWork } from '../db/claimed-work.ts'
import type { Notifications } from '../db/notifications.ts'
import { sqlOfClient } from '../db/once.ts'
import { serviceActor } from '../http/caller.ts'
import { newId } from '../platform/ids.ts'
import type { Log } from '../platform/log.ts'
import { retryDelayMs } from '../platform/webhook-retries.ts'
import { eventsChannel } from '../sessions/log/log-page.ts'
import type { Attempt, Claim, DeliveryStore, SentEvent } from './delivery-store.ts'
import type { EndpointRow, EndpointStore } from './endpoint-store.ts'
import type { Dispatch, MessageOf } from './message.ts'
import { publicFields } from './public-fields.ts'
import type { Sending } from './send.ts'

interface Deps {
  readonly store: DeliveryStore
  readonly endpoints: EndpointStore
  readonly dispatch: Dispatch
  readonly messageOf: MessageOf
  readonly notifications: Pick<Notifications, 'on' | 'onReconnect'>
  /** Channel on which key changes are notified. */
  readonly keyChannel: string
  readonly audit: Audit
  readonly log: Log
  /** Delays between attempts in milliseconds; after the last attempt an event is dead. */
  readonly retryMs?: readonly number[]
  /** An endpoint whose deliveries have failed for this long is disabled; three days by default. */
  readonly failingMs?: number
}

const defaultFailingMs = 3 * 86_400_000
const statusGone = 410
/** Longer than any transaction that appends events. */
const overlapMs = 60_000
const maxInTurn = 100

/** Sends session events to webhook endpoints: in order per session, each event at least once. */
export type Delivery = Pick<ClaimedWork, 'start' | 'stop'>

/**
 * The event log of a session is the queue; a cursor row per endpoint and session stores the progress. The replica that
 * claims the row sends.
 */
export function createDelivery(deps: Deps): Delivery {
  const { store, notifications, log } = deps
  let sweptAt: Date | undefined
  const work = createClaimedWork({
    notifications,
    channel: eventsChannel,
    markReady: store.markReady,
    async sweep(isFirst) {
      const now = await store.now()
      const since = isFirst ? undefined : sweptAt && new Date(sweptAt.getTime() - overlapMs)
      await store.markAllReady(since)
      sweptAt = now
      await disableWithInvalidKey(deps)
    },
    claim: busy => store.claim(randomUUID(), busy),
    receiverOf: ({ endpoint_id }) => endpoint_id,
    work: (claim, isRunning) => sendAll(deps, claim, isRunning),
    name: 'webhook events',
    log,
  })
  notifications.on(deps.keyChannel, () => work.attempt(() => disableWithInvalidKey(deps)))
  return work
}

/** Sends the events of a claim in order, until one fails or none is left. */
async function sendAll(deps: Deps, first: Claim, isRunning: () => boolean): Promise<void> {
  const { store, dispatch, messageOf } = deps
  let claim = first
  for (let turn = 0; turn < maxInTurn && isRunning(); turn++) {
    const next = await store.next(claim)
    if (!next) break
    const { event, url, last_seq } = next
    if (!event) return store.releaseAt(claim, last_seq)
    const sending = await dispatch({ id: claim.endpoint_id, url }, await messageOf(event))
    const attempt = attemptOf(event, sending, { made: claim.attempts + 1, delays: deps.retryMs })
    if (!(await settle(deps, claim, attempt)) || attempt.state === 'pending') return
    claim = { ...claim, seq: event.seq, attempts: 0 }
  }
  await store.release(claim, 0)
}

interface Attempts {
  /** Attempts including this one. */
  readonly made: number
  readonly delays: readonly number[] | undefined
}

function attemptOf(event: SentEvent, sending: Sending, { made, delays }: Attempts): Attempt {
  const wait = retryDelayMs(made, delays)
  if (sending.isDelivered) return { event, sending, state: 'delivered', attempts: made, retryMs: null }
  if (wait === undefined) return { event, sending, state: 'dead', attempts: made, retryMs: null }
  return { event, sending, state: 'pending', attempts: made, retryMs: wait }
}

/**
 * Stores all effects of an attempt in one transaction. Returns false when the claim was lost or the endpoint deleted.
 */
async function settle({ store, endpoints, audit, ...deps }: Deps, claim: Claim, attempt: Attempt): Promise<boolean> {
  const { endpoint_id } = claim
  const { isDelivered, httpStatus } = attempt.sending
  return endpoints.transaction(async client => {
    const before = await endpoints.lock(client, { id: endpoint_id, owner: undefined })
    if (!before || !(await store.settle(client, claim, attempt))) return false
    await store.log(client, { endpoint_id, id: newId('whd') }, attempt)
    const failedMs = await store.recordHealth(client, endpoint_id, isDelivered)
    if (httpStatus === statusGone) await disableThis('receiver returned status 410 (gone)', client, before)
    else if (!isDelivered && failedMs > (deps.failingMs ?? defaultFailingMs))
      await disableThis('deliveries have failed for too long', client, before)
    return true
  })

  async function disableThis(reason: string, client: PoolClient, before: EndpointRow): Promise<void> {
    if (before.status === 'active') await disable({ endpoints, audit }, client, before, reason)
  }
}

const maxDisabled = 100

/** Disables endpoints whose key is no longer valid. Events are not sent without a valid key, whatever the status. */
async function disableWithInvalidKey({ endpoints, audit }: Pick<Deps, 'endpoints' | 'audit'>): Promise<void> {
  await endpoints.transaction(async client => {
    const reason = 'key of the endpoint was revoked or has expired'
    for (const before of await endpoints.lockWithInvalidKey(client, maxDisabled))
      await disable({ endpoints, audit }, client, before, reason)
  })
}

async function disable(
  { endpoints, audit }: Pick<Deps, 'endpoints' | 'audit'>,
  client: PoolClient,
  before: EndpointRow,
  reason: string,
): Promise<void> {
  const after = await endpoints.disable(client, before.id, reason)
  await audit.record(sqlOfClient(client), {
    actor: serviceActor,
    action: 'webhook_endpoint.disable',
    objectId: before.id,
    ownerId: before.owner_id,
    before: publicFields(before),
    after: publicFields(after),
  })
}
