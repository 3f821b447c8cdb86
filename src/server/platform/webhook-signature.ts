import { createHmac, randomBytes } from 'node:crypto'

/** Signed content: id, time and body. */
export interface Signed {
  readonly id: string
  /** Seconds since 1970. */
  readonly timestamp: number
  readonly body: string
}

const prefix = 'whsec_'
const secretBytes = 32

/** Returns a new signing secret. */
export const newSecret = (): string => `${prefix}${randomBytes(secretBytes).toString('base64')}`

/** Returns the three headers of a delivery, with one signature per secret. Source: Standard Webhooks, version 1.0.0. */
export function signatureHeaders({ id, timestamp, body }: Signed, secrets: readonly string[]): Record<string, string> {
  const signatures = secrets.map(secret => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signatures.join(' ') }
}

/** True for a secret that the libraries of receivers accept. Source: Standard Webhooks, section Signature scheme. */
export function isWebhookSecret(text: string): boolean {
  const encoded = text.slice(prefix.length)
  const { length } = Buffer.from(encoded, 'base64')
  return text.startsWith(prefix) && /^[A-Za-z0-9+/]+={0,2}$/.test(encoded) && length >= 24 && length <= 64
}
