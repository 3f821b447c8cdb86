import type { WebhookSignature } from '../../contract/webhooks.ts'
import { type Headers, headerOf } from './headers.ts'

/** A signature as a request claims it, before it is checked. */
export interface Claim {
  readonly algorithm: 'sha1' | 'sha256' | 'sha512'
  /** One of them must be valid. */
  readonly signatures: readonly Buffer[]
  /** Signed text before the body. */
  readonly before: string
  /** Time of the signature in milliseconds; undefined when the scheme has no time, NaN when it cannot be parsed. */
  readonly signedAtMs: number | undefined
  /** Returns the HMAC key of a secret. */
  readonly keyOf: (secret: string) => Buffer
}

/** Reads the signature headers of a scheme; undefined when one is missing. */
export function claimOf(setting: WebhookSignature, headers: Headers): Claim | undefined {
  switch (setting.preset) {
    case 'github':
      return github(headers)
    case 'standard-webhooks':
      return standardWebhooks(headers)
    case 'slack':
      return slack(headers)
    case 'stripe':
      return stripe(headers)
    case 'custom':
      return custom(setting, headers)
  }
}

const asText = (secret: string): Buffer => Buffer.from(secret)

/** Source: GitHub Docs, Validating webhook deliveries. */
function github(headers: Headers): Claim | undefined {
  const given = headerOf(headers, 'x-hub-signature-256')
  if (given === undefined) return undefined
  const signatures = [decoded(given, 'sha256=', 'hex')]
  return { algorithm: 'sha256', signatures, before: '', signedAtMs: undefined, keyOf: asText }
}

/** Source: Standard Webhooks, specification, Signature scheme; the older `svix-` names of the headers too. */
function standardWebhooks(headers: Headers): Claim | undefined {
  const part = (name: string) => headerOf(headers, `webhook-${name}`) ?? headerOf(headers, `svix-${name}`)
  const [id, time, given] = [part('id'), part('timestamp'), part('signature')]
  if (id === undefined || time === undefined || given === undefined) return undefined
  return {
    algorithm: 'sha256',
    signatures: given.split(' ').flatMap(one => (one.startsWith('v1,') ? [decoded(one, 'v1,', 'base64')] : [])),
    before: `${id}.${time}.`,
    signedAtMs: millisecondsOf(time),
    keyOf: secret => Buffer.from(secret.replace(/^whsec_/, ''), 'base64'),
  }
}

/** Source: Slack API, Verifying requests from Slack. */
function slack(headers: Headers): Claim | undefined {
  const time = headerOf(headers, 'x-slack-request-timestamp')
  const given = headerOf(headers, 'x-slack-signature')
  if (time === undefined || given === undefined) return undefined
  return {
    algorithm: 'sha256',
    signatures: [decoded(given, 'v0=', 'hex')],
    before: `v0:${time}:`,
    signedAtMs: millisecondsOf(time),
    keyOf: asText,
  }
}

/** Source: Stripe Docs, Verify webhook signatures manually. */
function stripe(headers: Headers): Claim | undefined {
  const fields = headerOf(headers, 'stripe-signature')
    ?.split(',')
    .map(field => field.trim())
  const time = fields?.find(field => field.startsWith('t='))?.slice(2)
  if (!fields || time === undefined) return undefined
  return {
    algorithm: 'sha256',
    signatures: fields.flatMap(field => (field.startsWith('v1=') ? [decoded(field, 'v1=', 'hex')] : [])),
    before: `${time}.`,
    signedAtMs: millisecondsOf(time),
    keyOf: asText,
  }
}

function custom(setting: WebhookSignature, headers: Headers): Claim | undefined {
  const { header, prefix = '', algorithm = 'sha256', encoding = 'hex', separator = '.' } = setting
  const given = header === undefined ? undefined : headerOf(headers, header)
  const time = setting.timestamp_header === undefined ? undefined : headerOf(headers, setting.timestamp_header)
  if (given === undefined || (setting.timestamp_header !== undefined && time === undefined)) return undefined
  return {
    algorithm,
    signatures: [decoded(given, prefix, encoding)],
    before: time === undefined ? '' : `${time}${separator}`,
    signedAtMs: time === undefined ? undefined : millisecondsOf(time),
    keyOf: asText,
  }
}

/** Returns the bytes of a signature; empty when its prefix or encoding is wrong. */
function decoded(given: string, prefix: string, encoding: 'hex' | 'base64'): Buffer {
  if (!given.startsWith(prefix)) return Buffer.alloc(0)
  const text = given.slice(prefix.length)
  const bytes = Buffer.from(text, encoding)
  // Node ignores invalid characters and stops at them, so compare the result.
  const isWhole = bytes.toString(encoding) === (encoding === 'hex' ? text.toLowerCase() : text)
  return isWhole ? bytes : Buffer.alloc(0)
}

/** Parses seconds or milliseconds since 1970, or an ISO 8601 time; NaN for anything else. */
function millisecondsOf(time: string): number {
  if (/^\d{1,10}$/.test(time)) return Number(time) * 1_000
  return /^\d{11,14}$/.test(time) ? Number(time) : Date.parse(time)
}
