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
export const messageOf = ({ session_id, agent_id, seq, id, type, payload, created_at }: SentEvent): Message => ({
  id,
  type,
  at: created_at,
  data: { session_id, agent_id, event: { id, type, processed_at: created_at.toISOString(), seq, ...payload } },
})

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
    const headers = { ...signatureHeaders({ id, timestamp, body }, secrets), 'user-agent': 'switchyard' }
    return send({ url: receiver.url, headers, body })
  }
}
