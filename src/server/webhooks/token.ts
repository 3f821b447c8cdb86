import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

const digest = (text: string): Buffer => Buffer.from(hash('sha256', text, 'binary'), 'binary')

/** Returns the bearer token of a request; empty when it has none or several. */
export function bearerOf({ headers, rawHeaders }: Pick<IncomingMessage, 'headers' | 'rawHeaders'>): string {
  const count = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'authorization').length
  if (count !== 1) return ''
  return /^bearer\s+(.*)$/i.exec(headers.authorization ?? '')?.[1]?.trim() ?? ''
}

/** True when the token is one of the secrets. Compares in constant time. Security: S27. */
export function isOneOf(secrets: readonly string[], token: string): boolean {
  const presented = digest(token)
  let isRight = false
  for (const secret of secrets) {
    if (timingSafeEqual(digest(secret), presented)) isRight = true
  }
  return isRight && token !== ''
}

/**
 * Returns the secrets of a vault entry, one per line, so that an old and a new secret can be valid at the same time.
 */
export const secretsOf = (value: string): string[] =>
  value
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
