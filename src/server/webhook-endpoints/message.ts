import type { RowSealer } from '../db/sealed-rows.ts'
import type { Log } from '../platform/log.ts'
import { SealError } from '../platform/seal.ts'
import { signatureHeaders } from '../platform/webhook-signature.ts'
import type { SentEvent } from './delivery-store.ts'
import type { EndpointStore } from './endpoint-store.ts'
import type { Send, Sending } from './send.ts'

interface Deps {
  readonly store: Pick<EndpointStore, 'secrets'>
  readonly sealer: RowSealer<'webhook_endpoint_secrets'>
  readonly send: Send
  readonly log: Log
}

interface Receiver {
  readonly id: string
  readonly url: string
}

/** What a receiver gets. The id is the same at every attempt, so that it can tell a repetition. */
export interface Message {
  readonly id: string
  readonly type: string
  readonly at: Date
  readonly data: object
}

/** The message of an event. Source: Standard Webhooks, section Payload structure. */
export const messageOf = ({ session_id, agent_id, seq, id, type, payload, created_at }: SentEvent): Message => ({
  id,
  type,
  at: created_at,
  data: { session_id, agent_id, event: { id, type, processed_at: created_at.toISOString(), seq, ...payload } },
})

/** Signs a message with all secrets of the receiver that are in force, and sends it once. */
export type Dispatch = (receiver: Receiver, message: Message) => Promise<Sending>

export function createDispatch({ store, sealer, send, log }: Deps): Dispatch {
  async function secretsOf(endpointId: string): Promise<string[]> {
    return (await store.secrets(endpointId)).flatMap(row => {
      try {
        return sealer.open(row).toString()
      } catch (error) {
        if (!(error instanceof SealError)) throw error
        log.error({ endpoint_id: endpointId, reason: error.reason }, 'the secret of a webhook endpoint does not open')
        return []
      }
    })
  }

  return async (receiver, { id, type, at, data }) => {
    const secrets = await secretsOf(receiver.id)
    if (secrets.length === 0) {
      return { isDelivered: false, httpStatus: null, error: 'it has no secret that opens; rotate it', durationMs: 0 }
    }
    const body = JSON.stringify({ type, timestamp: at.toISOString(), data })
    const timestamp = Math.floor(Date.now() / 1_000)
    const headers = { ...signatureHeaders({ id, timestamp, body }, secrets), 'user-agent': 'switchyard' }
    return send({ url: receiver.url, headers, body })
  }
}
