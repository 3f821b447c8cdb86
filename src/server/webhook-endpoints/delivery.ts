import { randomUUID } from 'node:crypto'
import type { PoolClient } from 'pg'
import type { Audit } from '../audit/audit.ts'
import type { Notifications } from '../db/notifications.ts'
import { sqlOfClient } from '../db/once.ts'
import { serviceActor } from '../http/caller.ts'
import { newId } from '../platform/ids.ts'
import type { Log } from '../platform/log.ts'
import { every } from '../platform/timers.ts'
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

/** 5 s, 30 s, 2 min, 10 min, 1 h, 6 h, 24 h. */
const defaultRetryMs = [5, 30, 120, 600, 3_600, 21_600, 86_400].map(seconds => seconds * 1_000)
const defaultFailingMs = 3 * 86_400_000
const statusGone = 410

const flushMs = 200
const pollMs = 1_000
const sweepMs = 10_000
/** Longer than any transaction that appends events. */
const overlapMs = 60_000
const maxParallel = 8
const maxOfEndpoint = 4
const maxInTurn = 100

/** Sends session events to webhook endpoints: in order per session, each event at least once. */
export interface Delivery {
  start(): void
  /** Waits for the attempts in flight. */
  stop(): Promise<void>
}

/**
 * The event log of a session is the queue; a cursor row per endpoint and session stores the progress. The replica that
 * claims the row sends. NOTIFY announces new events; a sweep every 10 s finds events whose notification was lost.
 */
export function createDelivery(deps: Deps): Delivery {
  const { store, notifications, log } = deps
  const changedSessions = new Set<string>()
  const running = new Map<Promise<void>, string>()
  const timers: (() => Promise<void>)[] = []
  let isStarted = false
  let isClaiming = false
  let sweptAt: Date | undefined

  const logErrors = (work: () => Promise<void>) => () =>
    work().catch((cause: unknown) =>
      log.warn({ err: cause }, 'cannot read events to deliver; retrying in the next poll'),
    )

  async function flush(): Promise<void> {
    if (changedSessions.size === 0) return
    const ids = [...changedSessions]
    changedSessions.clear()
    if ((await store.markReady(ids)) > 0) await claimAll()
  }

  async function sweep(): Promise<void> {
    const now = await store.now()
    await store.markAllReady(sweptAt && new Date(sweptAt.getTime() - overlapMs))
    sweptAt = now
    await disableWithInvalidKey(deps)
    await claimAll()
  }

  async function claimAll(): Promise<void> {
    if (isClaiming) return
    isClaiming = true
    try {
      while (isStarted && running.size < maxParallel) {
        const claim = await store.claim(randomUUID(), busyEndpoints(running.values()))
        if (!claim) return
        startSending(claim)
      }
    } finally {
      isClaiming = false
    }
  }

  function startSending(claim: Claim): void {
    const work = sendAll(deps, claim, () => isStarted)
      // The claim expires, and a replica continues.
      .catch((cause: unknown) =>
        log.warn(
          { err: cause, endpoint_id: claim.endpoint_id },
          'sending of webhook events was interrupted; it continues after 20 s',
        ),
      )
      .finally(() => {
        running.delete(work)
        if (isStarted) void logErrors(claimAll)()
      })
    running.set(work, claim.endpoint_id)
  }

  notifications.on(eventsChannel, hint => void changedSessions.add(hint.split(' ')[0] ?? ''))
  notifications.on(deps.keyChannel, () => void (isStarted && logErrors(() => disableWithInvalidKey(deps))()))
  notifications.onReconnect(() => {
    sweptAt = undefined
  })

  return {
    start() {
      isStarted = true
      void logErrors(sweep)()
      timers.push(
        every(flushMs, logErrors(flush)),
        every(pollMs, logErrors(claimAll)),
        every(sweepMs, logErrors(sweep)),
      )
    },
    async stop() {
      isStarted = false
      await Promise.all(timers.map(stop => stop()))
      await Promise.all(running.keys())
    },
  }
}

/** Returns endpoints with the maximum of parallel deliveries, so that a slow receiver does not delay the others. */
function busyEndpoints(ids: Iterable<string>): string[] {
  const counts = new Map<string, number>()
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1)
  return [...counts].filter(([, count]) => count >= maxOfEndpoint).map(([id]) => id)
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
    const attempt = attemptOf(event, sending, { made: claim.attempts + 1, retryMs: deps.retryMs ?? defaultRetryMs })
    if (!(await settle(deps, claim, attempt)) || attempt.state === 'pending') return
    claim = { ...claim, seq: event.seq, attempts: 0 }
  }
  await store.release(claim, 0)
}

interface Attempts {
  /** Attempts including this one. */
  readonly made: number
  readonly retryMs: readonly number[]
}

function attemptOf(event: SentEvent, sending: Sending, { made, retryMs }: Attempts): Attempt {
  const wait = retryMs[made - 1]
  if (sending.isDelivered) return { event, sending, state: 'delivered', attempts: made, retryMs: null }
  if (wait === undefined) return { event, sending, state: 'dead', attempts: made, retryMs: null }
  // Jitter: when a receiver is unreachable, many sessions fail together and must not retry together.
  return { event, sending, state: 'pending', attempts: made, retryMs: wait * (1 + Math.random() / 10) }
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
