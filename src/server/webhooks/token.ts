import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

const digest = (text: string): Buffer => Buffer.from(hash('sha256', text, 'binary'), 'binary')

/** The bearer token of a request; empty when there is none, or more than one. */
export function bearerOf({ headers, rawHeaders }: Pick<IncomingMessage, 'headers' | 'rawHeaders'>): string {
  const count = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'authorization').length
  if (count !== 1) return ''
  return /^bearer\s+(.*)$/i.exec(headers.authorization ?? '')?.[1]?.trim() ?? ''
}

/** True when the token is one of the secrets. Takes as long for a wrong one, whatever of it is right. Security: S27. */
export function isOneOf(secrets: readonly string[], token: string): boolean {
  const presented = digest(token)
  let isRight = false
  for (const secret of secrets) {
    if (timingSafeEqual(digest(secret), presented)) isRight = true
  }
  return isRight && token !== ''
}

/** The secrets of a vault entry: one a line, so that an old and a new one can be live at a time. */
export const secretsOf = (value: string): string[] =>
  value
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
