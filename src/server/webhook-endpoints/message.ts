import { awaitedApprovals, type NewEvent } from '../../contract/events.ts'
import type { RowCipher } from '../db/encrypted-rows.ts'
import { DecryptionError } from '../platform/encryption.ts'
import type { Log } from '../platform/log.ts'
import { signatureHeaders } from '../platform/webhook-signature.ts'
import type { SentEvent } from './delivery-store.ts'
import type { EndpointStore } from './endpoint-store.ts'
import type { Send, Sending } from './send.ts'

interface Deps {
  readonly store: Pick<EndpointStore, 'secrets'>
  readonly cipher: RowCipher<'webhook_endpoint_secrets'>
  readonly send: Send
  readonly log: Log
}

interface Receiver {
  readonly id: string
  readonly url: string
}

/** Message to a receiver. The id is the same in every attempt, so that the receiver can detect duplicates. */
export interface Message {
  readonly id: string
  readonly type: string
  readonly at: Date
  readonly data: object
}

/** Returns the message of an event. Source: Standard Webhooks, section Payload structure. */
const messageOf = ({ session_id, agent_id, seq, id, type, payload, created_at }: SentEvent): Message => ({
  id,
  type,
  at: created_at,
  data: { session_id, agent_id, event: { id, type, processed_at: created_at.toISOString(), seq, ...payload } },
})

/** Returns the message of an event, with the links of the approvals that it requests. */
export type MessageOf = (event: SentEvent) => Promise<Message>

/** `linksOf` returns the signed links of pending approvals; none where links are off. */
export const createMessageOf =
  (linksOf: (approvalIds: readonly string[]) => Promise<readonly object[]>): MessageOf =>
  async event => {
    const message = messageOf(event)
    const ids = awaitedApprovals({ type: event.type, ...event.payload } as NewEvent)
    const approval_links = ids.length > 0 ? await linksOf(ids) : []
    return approval_links.length === 0 ? message : { ...message, data: { ...message.data, approval_links } }
  }

/** Signs a message with all valid secrets of the receiver, and sends it once. */
export type Dispatch = (receiver: Receiver, message: Message) => Promise<Sending>

export function createDispatch({ store, cipher, send, log }: Deps): Dispatch {
  async function secretsOf(endpointId: string): Promise<string[]> {
    return (await store.secrets(endpointId)).flatMap(row => {
      try {
        return cipher.decrypt(row).toString()
      } catch (error) {
        if (!(error instanceof DecryptionError)) throw error
        log.error({ endpoint_id: endpointId, reason: error.reason }, 'cannot decrypt the secret of a webhook endpoint')
        return []
      }
    })
  }

  return async (receiver, { id, type, at, data }) => {
    const secrets = await secretsOf(receiver.id)
    if (secrets.length === 0) {
      return {
        isDelivered: false,
        httpStatus: null,
        error: 'endpoint has no readable secret; rotate it',
        durationMs: 0,
      }
    }
    const body = JSON.stringify({ type, timestamp: at.toISOString(), data })
    const timestamp = Math.floor(Date.now() / 1_000)
    const signed = signatureHeaders({ id, timestamp, body }, secrets)
    const headers = { ...signed, 'user-agent': 'switchyard', 'content-type': 'application/json' }
    return send({ url: receiver.url, headers, body })
  }
}
