import { deliveryIdHeaders } from '../../contract/webhook-presets.ts'
import { invalid } from '../platform/errors.ts'

/** Headers of a delivery by lower case name. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

export function headerOf(headers: Headers, name: string): string | undefined {
  const value = headers[name.toLowerCase()]
  return typeof value === 'string' ? value : value?.join(', ')
}

const maxIdLength = 255

/**
 * Returns the sender's id of the delivery; undefined without one. Throws `invalid_request` for an id that is too long.
 */
export function deliveryIdOf(headers: Headers, configured: string | null | undefined): string | undefined {
  for (const name of configured ? [configured] : deliveryIdHeaders) {
    const id = headerOf(headers, name)?.trim() ?? ''
    if (id.length > maxIdLength) throw invalid(`header ${name} must have 1 to ${maxIdLength} characters`)
    if (id !== '') return id
  }
  return undefined
}

/** Headers that describe a delivery and contain no secret. Security: S17. */
const publicHeaders = [
  ...deliveryIdHeaders,
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

const maxLoggedLength = 200

/** Returns the headers for the log: public ones, and those that conditions refer to, because a replay needs them. */
export function loggedHeaders(headers: Headers, inConditions: readonly string[]): Record<string, string> {
  const names = [
    ...publicHeaders,
    ...inConditions.filter(name => !isSecretHeader(name)).map(name => name.toLowerCase()),
  ]
  const logged = names.map(name => [name, headerOf(headers, name)?.slice(0, maxLoggedLength)] as const)
  return Object.fromEntries(logged.filter((entry): entry is readonly [string, string] => entry[1] !== undefined))
}

/** Headers with secrets: never logged, and never used as the delivery id. */
const secretHeaders =
  /^(authorization|proxy-authorization|cookie|x-api-key|x-gitlab-token)$|signature|hmac|token|secret/i

export const isSecretHeader = (name: string): boolean => secretHeaders.test(name)
