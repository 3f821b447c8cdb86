import { createHmac } from 'node:crypto'
import type { WebhookSignature } from '../../../src/contract/webhooks.ts'

/** The secret of all senders below; Standard Webhooks reads it as base64. */
export const signingSecret = 'c2lnbmluZ3NlY3JldHNpZ25pbmdzZWNyZXQ='

/** How a sender signs a body at a time in seconds. */
export interface SigningSender {
  readonly setting: Omit<WebhookSignature, 'secret_key'>
  readonly signatureHeader: string
  readonly headersAt: (at: number, body: string) => Readonly<Record<string, string>>
}

const hmac = (text: string, key: string | Buffer = signingSecret) => createHmac('sha256', key).update(text)

const senders = {
  github: {
    setting: { preset: 'github' },
    signatureHeader: 'x-hub-signature-256',
    headersAt: (_at, body) => ({ 'x-hub-signature-256': `sha256=${hmac(body).digest('hex')}` }),
  },
  slack: {
    setting: { preset: 'slack' },
    signatureHeader: 'x-slack-signature',
    headersAt: (at, body) => ({
      'x-slack-request-timestamp': String(at),
      'x-slack-signature': `v0=${hmac(`v0:${at}:${body}`).digest('hex')}`,
    }),
  },
  stripe: {
    setting: { preset: 'stripe' },
    signatureHeader: 'stripe-signature',
    headersAt: (at, body) => ({ 'stripe-signature': `t=${at},v1=${hmac(`${at}.${body}`).digest('hex')}` }),
  },
  'standard-webhooks': {
    setting: { preset: 'standard-webhooks' },
    signatureHeader: 'webhook-signature',
    headersAt: (at, body) => {
      const key = Buffer.from(signingSecret, 'base64')
      const id = `msg_${at}`
      const signature = hmac(`${id}.${at}.${body}`, key).digest('base64')
      return { 'webhook-id': id, 'webhook-timestamp': String(at), 'webhook-signature': `v1,${signature}` }
    },
  },
  'custom with a time': {
    setting: { preset: 'custom', header: 'X-Sig', timestamp_header: 'X-Time' },
    signatureHeader: 'x-sig',
    headersAt: (at, body) => ({ 'x-time': String(at), 'x-sig': hmac(`${at}.${body}`).digest('hex') }),
  },
  'custom without a time': {
    setting: { preset: 'custom', header: 'X-Sig', encoding: 'base64' },
    signatureHeader: 'x-sig',
    headersAt: (_at, body) => ({ 'x-sig': hmac(body).digest('base64') }),
  },
} as const satisfies Readonly<Record<string, SigningSender>>

export const signedBy = (name: keyof typeof senders): SigningSender => senders[name]
