import { createHmac } from 'node:crypto'
import type { WebhookSignature } from '../../contract/webhooks.ts'
import { claimOf } from './presets.ts'

interface Sent {
  /** Id of the delivery. */
  readonly id: string
  /** Seconds since 1970. */
  readonly seconds: number
}

/** Returns the headers with which a sender signs a body; undefined when the secret gives no key. */
export function signedHeaders(
  setting: WebhookSignature,
  secret: string,
  { body, ...sent }: Sent & { readonly body: Buffer },
): Record<string, string> | undefined {
  const claim = claimOf(setting, place(setting, Buffer.alloc(0), sent))
  const key = claim?.keyOf(secret)
  if (!claim || !key || key.length === 0) return undefined
  return place(setting, createHmac(claim.algorithm, key).update(claim.before).update(body).digest(), sent)
}

function place(setting: WebhookSignature, signature: Buffer, { id, seconds }: Sent): Record<string, string> {
  const time = String(seconds)
  const hex = signature.toString('hex')
  switch (setting.preset) {
    case 'github':
      return { 'x-hub-signature-256': `sha256=${hex}` }
    case 'standard-webhooks':
      return {
        'webhook-id': id,
        'webhook-timestamp': time,
        'webhook-signature': `v1,${signature.toString('base64')}`,
      }
    case 'slack':
      return { 'x-slack-request-timestamp': time, 'x-slack-signature': `v0=${hex}` }
    case 'stripe':
      return { 'stripe-signature': `t=${time},v1=${hex}` }
    case 'custom': {
      const { header = '', prefix = '', encoding = 'hex', timestamp_header: timestamp } = setting
      return {
        [header.toLowerCase()]: `${prefix}${signature.toString(encoding)}`,
        ...(timestamp !== undefined && { [timestamp.toLowerCase()]: time }),
      }
    }
  }
}
