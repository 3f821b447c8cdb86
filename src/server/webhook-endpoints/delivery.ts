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
import { type Dispatch, messageOf } from './message.ts'
import { publicFields } from './public-fields.ts'
import type { Sending } from './send.ts'

interface Deps {
  readonly store: DeliveryStore
  readonly endpoints: EndpointStore
  readonly dispatch: Dispatch
  readonly notifications: Pick<Notifications, 'on' | 'onReconnect'>
  /** Where changes of keys are announced. */
  readonly keyChannel: string
  readonly audit: Audit
  readonly log: Log
  /** Between attempts, in milliseconds; after the last of them an event is dead. */
  readonly retryMs?: readonly number[]
  /** An endpoint to which nothing was delivered for so long is disabled; three days by default. */
  readonly failingMs?: number
}

/** 5 s, 30 s, 2 min, 10 min, 1 h, 6 h, 24 h. */
const usualRetryMs = [5, 30, 120, 600, 3_600, 21_600, 86_400].map(seconds => seconds * 1_000)
const usualFailingMs = 3 * 86_400_000
const gone = 410

const flushMs = 200
const pollMs = 1_000
const sweepMs = 10_000
/** Longer than any transaction that appends to a log. */
const overlapMs = 60_000
const maxParallel = 8
const maxOfEndpoint = 4
const maxInTurn = 100

/** Sends the events of sessions to their receivers, each session in order, each event at least once. */
export interface Delivery {
  start(): void
  /** Waits for the attempts at work. */
  stop(): Promise<void>
}

/**
 * The log of a session is the queue, and a row for each endpoint and session says how far that has got; whoever claims the
 * row sends. NOTIFY tells of new events; a look at the sessions every 10 s finds those that no hint told of.
 */
export function createDelivery(deps: Deps): Delivery {
  const { store, notifications, log } = deps
  const fresh = new Set<string>()
  const atWork = new Map<Promise<void>, string>()
  const timers: (() => Promise<void>)[] = []
  let isOn = false
  let isClaiming = false
  let sweptAt: Date | undefined

  const quietly = (work: () => Promise<void>) => () =>
    work().catch((cause: unknown) =>
      log.warn({ err: cause }, 'could not look for events to deliver; the next look will'),
    )

  async function flush(): Promise<void> {
    if (fresh.size === 0) return
    const ids = [...fresh]
    fresh.clear()
    if ((await store.note(ids)) > 0) await claimAll()
  }

  async function sweep(): Promise<void> {
    const now = await store.now()
    await store.noteAll(sweptAt && new Date(sweptAt.getTime() - overlapMs))
    sweptAt = now
    await disableEnded(deps)
    await claimAll()
  }

  async function claimAll(): Promise<void> {
    if (isClaiming) return
    isClaiming = true
    try {
      while (isOn && atWork.size < maxParallel) {
        const claim = await store.claim(randomUUID(), busyEndpoints(atWork.values()))
        if (!claim) return
        begin(claim)
      }
    } finally {
      isClaiming = false
    }
  }

  function begin(claim: Claim): void {
    const work = sendAll(deps, claim, () => isOn)
      // The claim runs out, and somebody else goes on.
      .catch((cause: unknown) => log.warn({ err: cause, endpoint_id: claim.endpoint_id }, 'a delivery was cut off'))
      .finally(() => {
        atWork.delete(work)
        if (isOn) void quietly(claimAll)()
      })
    atWork.set(work, claim.endpoint_id)
  }

  notifications.on(eventsChannel, hint => void fresh.add(hint.split(' ')[0] ?? ''))
  notifications.on(deps.keyChannel, () => void (isOn && quietly(() => disableEnded(deps))()))
  notifications.onReconnect(() => {
    sweptAt = undefined
  })

  return {
    start() {
      isOn = true
      void quietly(sweep)()
      timers.push(every(flushMs, quietly(flush)), every(pollMs, quietly(claimAll)), every(sweepMs, quietly(sweep)))
    },
    async stop() {
      isOn = false
      await Promise.all(timers.map(stop => stop()))
      await Promise.all(atWork.keys())
    },
  }
}

/** Endpoints that have their share of this process: a slow receiver must not hold up the others. */
function busyEndpoints(ids: Iterable<string>): string[] {
  const counts = new Map<string, number>()
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1)
  return [...counts].filter(([, count]) => count >= maxOfEndpoint).map(([id]) => id)
}

/** Sends what a claim is for, one event after the other, until one fails or none is left. */
async function sendAll(deps: Deps, first: Claim, isOn: () => boolean): Promise<void> {
  const { store, dispatch } = deps
  let claim = first
  for (let turn = 0; turn < maxInTurn && isOn(); turn++) {
    const next = await store.next(claim)
    if (!next) break
    const { event, url, last_seq } = next
    if (!event) return store.rest(claim, last_seq)
    const sending = await dispatch({ id: claim.endpoint_id, url }, messageOf(event))
    const attempt = attemptOf(event, sending, { made: claim.attempts + 1, retryMs: deps.retryMs ?? usualRetryMs })
    if (!(await settle(deps, claim, attempt)) || attempt.state === 'pending') return
    claim = { ...claim, seq: event.seq, attempts: 0 }
  }
  await store.giveBack(claim, 0)
}

interface Tries {
  /** Attempts with this one. */
  readonly made: number
  readonly retryMs: readonly number[]
}

function attemptOf(event: SentEvent, sending: Sending, { made, retryMs }: Tries): Attempt {
  const wait = retryMs[made - 1]
  if (sending.isDelivered) return { event, sending, state: 'delivered', attempts: made, retryMs: null }
  if (wait === undefined) return { event, sending, state: 'dead', attempts: made, retryMs: null }
  // Many sessions fail together when a receiver is away; they shall not come back together.
  return { event, sending, state: 'pending', attempts: made, retryMs: wait * (1 + Math.random() / 10) }
}

/** All that an attempt changes, together. False when the claim had run out and somebody else sends, or the endpoint is gone. */
async function settle({ store, endpoints, audit, ...deps }: Deps, claim: Claim, attempt: Attempt): Promise<boolean> {
  const { endpoint_id } = claim
  const { isDelivered, httpStatus } = attempt.sending
  return endpoints.transaction(async client => {
    const before = await endpoints.lock(client, { id: endpoint_id, owner: undefined })
    if (!before || !(await store.settle(client, claim, attempt))) return false
    await store.log(client, { endpoint_id, id: newId('whd') }, attempt)
    const failedMs = await store.noteHealth(client, endpoint_id, isDelivered)
    if (httpStatus === gone) await disableThis('the receiver answered that it is gone (status 410)', client, before)
    else if (!isDelivered && failedMs > (deps.failingMs ?? usualFailingMs))
      await disableThis('nothing could be delivered for too long', client, before)
    return true
  })

  async function disableThis(reason: string, client: PoolClient, before: EndpointRow): Promise<void> {
    if (before.status === 'active') await disable({ endpoints, audit }, client, { before, reason })
  }
}

const maxEnded = 100

/** Disables endpoints that have outlived their key. Nothing is sent to them from the end of the key on, whatever their status. */
async function disableEnded({ endpoints, audit }: Pick<Deps, 'endpoints' | 'audit'>): Promise<void> {
  await endpoints.transaction(async client => {
    const reason = 'the key that set it up was revoked or has expired'
    for (const before of await endpoints.lockEnded(client, maxEnded))
      await disable({ endpoints, audit }, client, { before, reason })
  })
}

interface Disabling {
  readonly before: EndpointRow
  readonly reason: string
}

async function disable(
  { endpoints, audit }: Pick<Deps, 'endpoints' | 'audit'>,
  client: PoolClient,
  { before, reason }: Disabling,
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
