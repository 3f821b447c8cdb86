import type { IncomingMessage } from 'node:http'
import type { Keyring } from '../platform/encryption.ts'
import { createEncryptedCookie } from './encrypted-cookie.ts'

/** The cookie of the console: a key, encrypted, for a limited time. It is as valid as its key. Security: S43. */
export interface SignInCookie {
  /** Returns the key in the cookie of a request; undefined without a valid one. */
  keyIn(request: Pick<IncomingMessage, 'headers'>): string | undefined
  /** Returns the value of `set-cookie` that signs in with a key. */
  set(key: string): string
  /** Value of `set-cookie` that signs out. */
  readonly cleared: string
}

export function createSignInCookie(keyring: Keyring, nowMs: () => number): SignInCookie {
  const cookie = createEncryptedCookie({
    keyring,
    purpose: 'console sign-in',
    name: '__Host-switchyard',
    sameSite: 'Strict',
    lifetimeS: 7 * 24 * 3_600,
    maxLength: 4_000,
    nowMs,
  })
  return {
    keyIn(request) {
      const key = cookie.fieldsIn(request)?.['key']
      return typeof key === 'string' ? key : undefined
    },
    set: key => cookie.set({ key }),
    cleared: cookie.cleared,
  }
}
