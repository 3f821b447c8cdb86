import type { IncomingMessage } from 'node:http'
import { createEncryptedCookie } from '../http/encrypted-cookie.ts'
import type { Keyring } from '../platform/encryption.ts'
import { nonEmptyText } from '../platform/json.ts'

/** Secrets of a sign-in that the browser keeps, encrypted, until the identity provider sends it back. */
export interface Attempt {
  readonly state: string
  readonly nonce: string
  /** PKCE. */
  readonly verifier: string
}

/** The cookie that binds a sign-in to the browser that began it. */
export interface AttemptCookie {
  /** Returns the value of `set-cookie`. */
  set(attempt: Attempt): string
  /** Returns the attempt of a request; undefined without a valid one. */
  attemptIn(request: Pick<IncomingMessage, 'headers'>): Attempt | undefined
  readonly cleared: string
}

/** Time that a person has to sign in at the identity provider. */
export const attemptSeconds = 600

export function createAttemptCookie(keyring: Keyring, nowMs: () => number): AttemptCookie {
  const cookie = createEncryptedCookie({
    keyring,
    purpose: 'console single sign-on',
    name: '__Host-switchyard-sso',
    // The way back from the provider is a navigation from another site, with which browsers send no strict cookie.
    sameSite: 'Lax',
    lifetimeS: attemptSeconds,
    maxLength: 2_000,
    nowMs,
  })
  return {
    set: attempt => cookie.set({ ...attempt }),
    attemptIn(request) {
      const fields = cookie.fieldsIn(request)
      const state = nonEmptyText(fields?.['state'])
      const nonce = nonEmptyText(fields?.['nonce'])
      const verifier = nonEmptyText(fields?.['verifier'])
      return state && nonce && verifier ? { state, nonce, verifier } : undefined
    },
    cleared: cookie.cleared,
  }
}
