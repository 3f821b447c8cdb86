import { randomUUID } from 'node:crypto'
import type { PoolClient } from 'pg'
import type { Agent } from '../../contract/agents.ts'
import { type Delivery, maxWebhookBytes, type WebhookConfig } from '../../contract/webhooks.ts'
import { nextVersion, type RowSealer } from '../db/sealed-rows.ts'
import type { Caller } from '../http/caller.ts'
import type { RunAs } from '../keys/run-as.ts'
import { AppError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { Log } from '../platform/log.ts'
import type { Sessions, Started } from '../sessions/sessions.ts'
import type { Claimed, ClaimOf, NewDelivery } from './claim-store.ts'
import { conversationOf, hashOfConversation } from './conversation.ts'
import { eventOf, headersIn, reasonToSkip } from './event-filter.ts'
import { type Headers, headerOf, keptHeaders } from './headers.ts'
import { indented, type Payload } from './payload.ts'
import type { Conversation, DeliveryStore } from './store.ts'
import { filledTemplate } from './template.ts'

interface Deps {
  readonly store: DeliveryStore
  readonly sessions: Pick<Sessions, 'startWithin'>
  readonly runAs: RunAs
  readonly sealer: RowSealer<'webhook_payloads'>
  readonly log: Pick<Log, 'warn'>
}

/** One delivery on its way to a session. */
export interface Arrival {
  readonly deliveryId: string
  readonly kind: Delivery['kind']
  readonly replayOf?: string
  /** Who asked for it, of a replay and an example; they pay. Absent: the key that set the webhook up does. */
  readonly by?: Caller
  /** Of a signed delivery that is accepted only once. */
  readonly signedDigest?: Buffer | undefined
  readonly headers: Headers
  readonly payload: Payload
}

/** The agent that a delivery is for, with its settings. */
export interface Receiver {
  readonly agent: Agent
  readonly settings: WebhookConfig
}

/** `id` is the line of the log. Without a session a filter has left the delivery out. */
type Outcome =
  | { readonly got: 'done'; readonly id: string; readonly sessionId: string }
  | Exclude<Claimed, { got: 'ours' }>

/** Longer ones are delivered and not kept. */
const maxKeptBytes = 1024 * 1024
const maxTitleLength = 120

/** Makes one session and one message of a delivery, whatever is repeated or killed. Throws `conflict` for an agent at rest. */
export type Deliver = (receiver: Receiver, arrival: Arrival) => Promise<Outcome>

export function createDeliver({ store, sessions, runAs, sealer, log }: Deps): Deliver {
  /** The next delivery of this id begins anew. Where that fails, its claim runs out. */
  async function giveBack(mine: ClaimOf, error: unknown): Promise<void> {
    const text = error instanceof AppError ? error.message : 'internal error'
    await store.finish(mine, { status: 'failed', error: text }).catch(cause => {
      log.warn({ err: cause, agent_id: mine.agent_id }, 'a delivery could not be given back; its claim runs out')
    })
  }

  /** Session, message and the end of the delivery in one transaction: a retry finds all of them or nothing. */
  async function start(receiver: Receiver, arrival: Arrival, mine: ClaimOf): Promise<string> {
    const { agent, settings } = receiver
    const ownerId = agent.owner_id ?? ''
    const caller: Caller = arrival.by
      ? { principal: arrival.by.principal, role: 'user', ownerScope: ownerId, key: arrival.by.key }
      : await runAs({ ownerId, principal: ownerId, runAsKeyId: agent.run_as_key_id })
    const body = { ...sessionOf(receiver, arrival), prompt: messageOf(settings, arrival.payload) }
    const name = conversationOf(settings.conversation, arrival.payload.value)
    const place = name === undefined ? undefined : { agentId: agent.id, key: hashOfConversation(name) }
    const started = await store
      .transaction(async client => {
        const begun = await inConversation(client, place, goOn => sessions.startWithin(client, { body, caller, goOn }))
        const ending = { status: 'accepted', session_id: begun.sessionId, prompt_id: begun.promptId } as const
        if (!(await store.finish(mine, ending, client))) throw new TakenOver()
        return begun
      })
      .catch(error => {
        throw place && error instanceof AppError && error.code === 'not_found' ? deletedMeanwhile(error) : error
      })
    started.tell()
    return started.sessionId
  }

  /** Begins in the session that the conversation has, and writes down where it goes on. */
  async function inConversation(
    client: PoolClient,
    place: Conversation | undefined,
    begin: (goOn: string | undefined) => Promise<Started>,
  ): Promise<Started> {
    if (!place) return begin(undefined)
    const goOn = await store.lockConversation(client, place)
    const begun = await begin(goOn)
    if (begun.sessionId !== goOn) await store.setConversation(client, { ...place, sessionId: begun.sessionId })
    return begun
  }

  function rowOf({ agent, settings }: Receiver, arrival: Arrival, mine: ClaimOf): NewDelivery {
    const { headers, payload, kind, replayOf = null, signedDigest = null } = arrival
    const { agent_id, delivery_id } = mine
    const version = nextVersion(undefined)
    const isKept = payload.bytes.length <= maxKeptBytes
    return {
      ...mine,
      id: newId('del'),
      owner_id: agent.owner_id ?? '',
      kind,
      replay_of: replayOf,
      event: eventOf({ headers, payload: payload.value }) ?? null,
      headers: keptHeaders(headers, headersIn(settings.events ?? [])),
      payload_bytes: payload.bytes.length,
      payload: isKept ? { version, ...sealer.seal(payload.bytes, { agent_id, delivery_id, version }) } : null,
      signed_digest: signedDigest,
    }
  }

  return async (receiver, arrival) => {
    const { agent, settings } = receiver
    if (agent.status !== 'active')
      throw new AppError('conflict', `agent ${agent.id} is ${agent.status}; resume it first`)
    const mine: ClaimOf = { agent_id: agent.id, delivery_id: arrival.deliveryId, claim: randomUUID() }
    const claimed = await store.claim(rowOf(receiver, arrival, mine), settings.rpm_limit ?? undefined)
    if (claimed.got !== 'ours') return claimed
    const { id } = claimed
    try {
      const seen = { headers: arrival.headers, payload: arrival.payload.value }
      const reason = reasonToSkip(settings.events ?? [], seen)
      if (reason === undefined) return { got: 'done', id, sessionId: await start(receiver, arrival, mine) }
      const isOurs = await store.finish(mine, { status: 'skipped', error: reason })
      return isOurs ? { got: 'done', id, sessionId: '' } : { got: 'processing' }
    } catch (error) {
      if (error instanceof TakenOver) return { got: 'processing' }
      await giveBack(mine, error)
      throw error
    }
  }
}

/** Another has taken the delivery over meanwhile: nothing of this attempt stays. */
class TakenOver extends Error {}

const deletedMeanwhile = (cause: unknown): AppError =>
  new AppError('unavailable', 'the session of this conversation was just deleted; try again', {
    cause,
    headers: { 'retry-after': '1' },
  })

/** Gaps: section 5, `environment` of webhook sessions, and section 11, rule 6. */
const sessionOf = ({ agent }: Receiver, { deliveryId, headers }: Arrival) => ({
  agent_id: agent.id,
  title: [...`Webhook ${deliveryId}`].slice(0, maxTitleLength).join(''),
  environment: {
    source: 'webhook',
    request_id: deliveryId,
    content_type: headerOf(headers, 'content-type') ?? null,
    user_agent: headerOf(headers, 'user-agent') ?? null,
  },
})

/** What the agent reads: the payload as it is, or what the template gives, unless that is blank. */
export function messageOf({ template }: WebhookConfig, payload: Payload): string {
  const text = template ? filledTemplate(template, payload.value, maxWebhookBytes) : ''
  if (text === undefined) throw new AppError('payload_too_large', 'the message of the template is too large')
  return text.trim() === '' ? indented(payload) : text
}
