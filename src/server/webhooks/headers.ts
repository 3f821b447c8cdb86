import { invalid } from '../platform/errors.ts'

/** Headers of a delivery by their names in lower case. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

export function headerOf(headers: Headers, name: string): string | undefined {
  const value = headers[name.toLowerCase()]
  return typeof value === 'string' ? value : value?.join(', ')
}

/** In this order. Gaps: section 11, rule 4. */
const idHeaders = [
  'webhook-id',
  'svix-id',
  'x-github-delivery',
  'linear-delivery',
  'x-gitlab-event-uuid',
  'x-shopify-webhook-id',
  'x-zendesk-webhook-invocation-id',
  'idempotency-key',
  'x-delivery-id',
  'x-request-id',
]

const maxIdLength = 255

/** What the sender calls the delivery; undefined when it has no name. Throws `invalid_request` for one that is too long. */
export function deliveryIdOf(headers: Headers, configured: string | null | undefined): string | undefined {
  for (const name of configured ? [configured] : idHeaders) {
    const id = headerOf(headers, name)?.trim() ?? ''
    if (id.length > maxIdLength) throw invalid(`the header ${name} must have 1 to ${maxIdLength} characters`)
    if (id !== '') return id
  }
  return undefined
}

/** Headers that tell of a delivery and hold no secret. Security: S17. */
const publicHeaders = [
  ...idHeaders,
  'content-type',
  'user-agent',
  'webhook-timestamp',
  'svix-timestamp',
  'x-github-event',
  'x-github-hook-id',
  'x-github-hook-installation-target-type',
  'x-gitlab-event',
  'x-shopify-topic',
  'linear-event',
  'x-event-type',
  'x-slack-request-timestamp',
  'x-slack-retry-num',
  'x-slack-retry-reason',
]

const maxKeptLength = 200

/** What the log keeps of the headers: the public ones, and those that conditions ask for, so that a replay meets them. */
export function keptHeaders(headers: Headers, asked: readonly string[]): Record<string, string> {
  const names = [...publicHeaders, ...asked.filter(name => !isSecretHeader(name)).map(name => name.toLowerCase())]
  const kept = names.map(name => [name, headerOf(headers, name)?.slice(0, maxKeptLength)] as const)
  return Object.fromEntries(kept.filter((entry): entry is readonly [string, string] => entry[1] !== undefined))
}

/** Hold what nobody may read in a log, so that none of them names a delivery. */
const secretHeaders =
  /^(authorization|proxy-authorization|cookie|x-api-key|x-gitlab-token)$|signature|hmac|token|secret/i

export const isSecretHeader = (name: string): boolean => secretHeaders.test(name)
