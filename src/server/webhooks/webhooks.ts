import type {
  Delivery,
  DeliveryDetail,
  DeliveryExample,
  DeliveryPreview,
  PreviewRequest,
  WebhookAcceptance,
  WebhookConfig,
} from '../../contract/webhooks.ts'
import type { AgentStore } from '../agents/store.ts'
import type { RowCipher } from '../db/encrypted-rows.ts'
import type { Caller } from '../http/caller.ts'
import { DecryptionError } from '../platform/encryption.ts'
import { AppError, invalid, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { Admitted } from './admission.ts'
import { conversationOf } from './conversation.ts'
import { type Deliver, type IncomingDelivery, messageOf, type Receiver } from './delivering.ts'
import type { DeliveryCounts } from './delivery-counts.ts'
import { eventOf, reasonToSkip } from './event-filter.ts'
import { deliveryIdOf, type Headers } from './headers.ts'
import { type Payload, payloadOf } from './payload.ts'
import { settingsOf } from './settings.ts'
import type { DeliveryStore } from './store.ts'

interface Deps {
  readonly store: DeliveryStore
  readonly agents: Pick<AgentStore, 'find'>
  readonly deliver: Deliver
  readonly counts: Pick<DeliveryCounts, 'add'>
  /** For payloads. */
  readonly cipher: RowCipher<'webhook_payloads'>
}

/** Response to a sender; a challenge is echoed to senders that verify the URL first. */
type Answer = WebhookAcceptance | { readonly challenge: string }

/** Deliveries of senders and callers, and their log. */
export type Webhooks = ReturnType<typeof createWebhooks>

export function createWebhooks({ store, agents, deliver, cipher, counts }: Deps) {
  /** Delivers a replay or an example under a new id, and returns its log entry. */
  async function deliverFor(
    caller: Caller,
    agentId: string,
    incoming: Omit<IncomingDelivery, 'deliveryId' | 'by'>,
  ): Promise<Delivery> {
    const outcome = await deliver(await receiverOf(caller, agentId), {
      ...incoming,
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
    if (!settings) throw new AppError('conflict', `config.webhook of agent ${id} is invalid; update the agent`)
    return { agent, settings }
  }

  /** Returns settings that are not stored. Throws `not_found` for an agent that the caller may not see. */
  async function settingsFor(caller: Caller, id: string, settings: WebhookConfig): Promise<WebhookConfig> {
    if (!(await agents.find(id, caller.ownerScope))) throw notFound('agent', id)
    return settings
  }

  /** Returns a log entry that the caller may see, with its payload; undefined when that is not stored. */
  async function logged(id: string, caller: Caller): Promise<{ delivery: Delivery; payload: Buffer | undefined }> {
    const found = await store.find(id, caller.ownerScope)
    if (!found) throw notFound('delivery', id)
    const { delivery, payload } = found
    return { delivery, payload: payload && decrypted(payload) }
  }

  function decrypted(payload: Parameters<typeof cipher.decrypt>[0]): Buffer | undefined {
    try {
      return cipher.decrypt(payload)
    } catch (error) {
      if (error instanceof DecryptionError) return undefined
      throw error
    }
  }

  return {
    /** Handles a delivery of an admitted sender. Gaps: section 11. */
    async receive(
      { agent, settings, checkSignature }: Admitted,
      { headers, body }: { headers: Headers; body: Buffer },
    ): Promise<Answer> {
      const payload = payloadOf(body)
      const signedDigest = checkSignature(body)
      const challenge = challengeOf(settings, payload.value)
      if (challenge !== undefined) return { challenge }
      const deliveryId = deliveryIdOf(headers, settings.delivery_id_header) ?? newId('del')
      const incoming: IncomingDelivery = { deliveryId, kind: 'webhook', headers, payload, signedDigest }
      const outcome = await deliver({ agent, settings }, incoming)
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
          counts.add(agent.id, 'duplicate')
          return answer('duplicate', outcome.session_id)
        case 'processing':
          return answer('processing', '')
        case 'limited':
          counts.add(agent.id, 'rate_limited')
          throw tooMany()
      }
    },

    list: store.list,

    async get(id: string, caller: Caller): Promise<DeliveryDetail> {
      const { delivery, payload } = await logged(id, caller)
      return { ...delivery, payload: payload?.toString() ?? null }
    },

    /** Delivers a stored payload again, under the agent's current settings. */
    async replay(id: string, caller: Caller): Promise<Delivery> {
      const { delivery, payload: bytes } = await logged(id, caller)
      if (!bytes) throw new AppError('conflict', `payload of delivery ${id} is not stored; send it again`)
      const { agent_id, headers } = delivery
      return deliverFor(caller, agent_id, { kind: 'replay', replayOf: id, headers, payload: payloadOf(bytes) })
    },

    send: (agentId: string, { payload, headers }: DeliveryExample, caller: Caller): Promise<Delivery> =>
      deliverFor(caller, agentId, { kind: 'test', headers: lowerCase(headers), payload: payloadFrom(payload) }),

    async preview(agentId: string, wanted: PreviewRequest, caller: Caller): Promise<DeliveryPreview> {
      const { payload, headers, settings: given } = wanted
      const settings = given ? await settingsFor(caller, agentId, given) : (await receiverOf(caller, agentId)).settings
      const input = { headers: lowerCase(headers), payload }
      const reason = reasonToSkip(settings.events ?? [], input) ?? null
      return {
        outcome: reason === null ? 'accepted' : 'skipped',
        reason,
        event: eventOf(input) ?? null,
        message: messageOf(settings, payloadFrom(payload)),
        conversation: conversationOf(settings.conversation, payload) ?? null,
      }
    },
  }
}

const tooMany = (): AppError =>
  new AppError(
    'rate_limited',
    'too many deliveries per minute for this agent (config.webhook.rpm_limit); retry after 60 s',
    {
      headers: { 'retry-after': '60' },
    },
  )

/** Returns the challenge that Slack expects back before it sends events. Source: Slack API, url_verification. */
function challengeOf({ signature }: WebhookConfig, payload: unknown): string | undefined {
  if (signature?.preset !== 'slack' || typeof payload !== 'object' || payload === null) return undefined
  const { type, challenge } = payload as { type?: unknown; challenge?: unknown }
  return type === 'url_verification' && typeof challenge === 'string' ? challenge.slice(0, 1_000) : undefined
}

function payloadFrom(value: unknown): Payload {
  if (value === undefined) throw invalid('payload is required')
  return { value, bytes: Buffer.from(JSON.stringify(value)) }
}

const lowerCase = (headers: DeliveryExample['headers'] = {}): Headers =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
