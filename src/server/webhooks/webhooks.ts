import type {
  Delivery,
  DeliveryDetail,
  DeliveryExample,
  DeliveryPreview,
  WebhookAcceptance,
  WebhookConfig,
} from '../../contract/webhooks.ts'
import type { AgentStore } from '../agents/store.ts'
import type { RowSealer } from '../db/sealed-rows.ts'
import type { Caller } from '../http/caller.ts'
import { AppError, invalid, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { SealError } from '../platform/seal.ts'
import type { Admitted } from './admission.ts'
import { conversationOf } from './conversation.ts'
import { type Arrival, type Deliver, messageOf, type Receiver } from './delivering.ts'
import { eventOf, reasonToSkip } from './event-filter.ts'
import { deliveryIdOf, type Headers } from './headers.ts'
import { type Payload, payloadOf } from './payload.ts'
import { settingsOf } from './settings.ts'
import type { DeliveryStore } from './store.ts'

interface Deps {
  readonly store: DeliveryStore
  readonly agents: Pick<AgentStore, 'find'>
  readonly deliver: Deliver
  /** For payloads. */
  readonly sealer: RowSealer<'webhook_payloads'>
}

/** What a sender is told; some want a word of theirs back before they send anything. */
type Answer = WebhookAcceptance | { readonly challenge: string }

/** Deliveries from senders and from callers, and the log of both. */
export type Webhooks = ReturnType<typeof createWebhooks>

export function createWebhooks({ store, agents, deliver, sealer }: Deps) {
  /** Delivers what a caller asks for, under an id of its own, and gives its line of the log. */
  async function deliverFor(
    caller: Caller,
    agentId: string,
    arrival: Omit<Arrival, 'deliveryId' | 'by'>,
  ): Promise<Delivery> {
    const outcome = await deliver(await receiverOf(caller, agentId), {
      ...arrival,
      by: caller,
      deliveryId: newId('del'),
    })
    if (outcome.got === 'limited') throw tooMany()
    if (outcome.got !== 'done') throw new Error(`a delivery under a new id was ${outcome.got}`)
    return (await logged(outcome.id, caller)).delivery
  }

  async function receiverOf(caller: Caller, id: string): Promise<Receiver> {
    const agent = await agents.find(id, caller.ownerScope)
    if (!agent) throw notFound('agent', id)
    const settings = settingsOf(agent)
    if (!settings) throw new AppError('conflict', `config.webhook of agent ${id} is not valid; update the agent`)
    return { agent, settings }
  }

  /** A line of the log that the caller may see, with its payload; undefined when that was not kept. */
  async function logged(id: string, caller: Caller): Promise<{ delivery: Delivery; payload: Buffer | undefined }> {
    const found = await store.find(id, caller.ownerScope)
    if (!found) throw notFound('delivery', id)
    const { delivery, payload } = found
    return { delivery, payload: payload && opened(payload) }
  }

  function opened(payload: Parameters<typeof sealer.open>[0]): Buffer | undefined {
    try {
      return sealer.open(payload)
    } catch (error) {
      if (error instanceof SealError) return undefined
      throw error
    }
  }

  return {
    /** Takes a delivery of an admitted sender. Gaps: section 11. */
    async receive(
      { agent, settings, checkSignature }: Admitted,
      { headers, body }: { headers: Headers; body: Buffer },
    ): Promise<Answer> {
      const payload = payloadOf(body)
      const signedDigest = checkSignature(body)
      const challenge = challengeOf(settings, payload.value)
      if (challenge !== undefined) return { challenge }
      const deliveryId = deliveryIdOf(headers, settings.delivery_id_header) ?? newId('del')
      const arrival: Arrival = { deliveryId, kind: 'webhook', headers, payload, signedDigest }
      const outcome = await deliver({ agent, settings }, arrival)
      const answer = (status: WebhookAcceptance['status'], session_id: string): WebhookAcceptance => ({
        status,
        agent_id: agent.id,
        session_id,
        request_id: deliveryId,
      })
      switch (outcome.got) {
        case 'done':
          return answer('accepted', outcome.sessionId)
        case 'finished':
          return answer('duplicate', outcome.session_id)
        case 'processing':
          return answer('processing', '')
        case 'limited':
          throw tooMany()
      }
    },

    list: store.list,

    async get(id: string, caller: Caller): Promise<DeliveryDetail> {
      const { delivery, payload } = await logged(id, caller)
      return { ...delivery, payload: payload?.toString() ?? null }
    },

    /** Delivers a stored payload anew, under the settings that the agent has now. */
    async replay(id: string, caller: Caller): Promise<Delivery> {
      const { delivery, payload: bytes } = await logged(id, caller)
      if (!bytes) throw new AppError('conflict', `the payload of delivery ${id} was not kept; have it sent again`)
      const { agent_id, headers } = delivery
      return deliverFor(caller, agent_id, { kind: 'replay', replayOf: id, headers, payload: payloadOf(bytes) })
    },

    send: (agentId: string, { payload, headers }: DeliveryExample, caller: Caller): Promise<Delivery> =>
      deliverFor(caller, agentId, { kind: 'test', headers: lowerCase(headers), payload: given(payload) }),

    async preview(agentId: string, { payload, headers }: DeliveryExample, caller: Caller): Promise<DeliveryPreview> {
      const { settings } = await receiverOf(caller, agentId)
      const seen = { headers: lowerCase(headers), payload }
      const reason = reasonToSkip(settings.events ?? [], seen) ?? null
      return {
        outcome: reason === null ? 'accepted' : 'skipped',
        reason,
        event: eventOf(seen) ?? null,
        message: messageOf(settings, given(payload)),
        conversation: conversationOf(settings.conversation, payload) ?? null,
      }
    },
  }
}

const tooMany = (): AppError =>
  new AppError('rate_limited', 'too many deliveries a minute for this agent; see config.webhook.rpm_limit', {
    headers: { 'retry-after': '60' },
  })

/** What Slack wants back before it sends events. Source: Slack API, url_verification. */
function challengeOf({ signature }: WebhookConfig, payload: unknown): string | undefined {
  if (signature?.preset !== 'slack' || typeof payload !== 'object' || payload === null) return undefined
  const { type, challenge } = payload as { type?: unknown; challenge?: unknown }
  return type === 'url_verification' && typeof challenge === 'string' ? challenge.slice(0, 1_000) : undefined
}

function given(value: unknown): Payload {
  if (value === undefined) throw invalid('payload is required')
  return { value, bytes: Buffer.from(JSON.stringify(value)) }
}

const lowerCase = (headers: DeliveryExample['headers'] = {}): Headers =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
