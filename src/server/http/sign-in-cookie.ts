import type { IncomingMessage } from 'node:http'
import { createValueCipher, DecryptionError, type Keyring } from '../platform/encryption.ts'
import { jsonOr, recordOf } from '../platform/json.ts'
import { cookieIn } from './cookies.ts'

/** The cookie of the console: a key, encrypted, for a limited time. It is as valid as its key. Security: S43. */
export interface SignInCookie {
  /** Returns the key in the cookie of a request; undefined without a valid one. */
  keyIn(request: Pick<IncomingMessage, 'headers'>): string | undefined
  /** Returns the value of `set-cookie` that signs in with a key. */
  set(key: string): string
  /** Value of `set-cookie` that signs out. */
  readonly cleared: string
}

/** The prefix makes browsers accept it only over https or from loopback, for this host and every path. */
const name = '__Host-switchyard'
const attributes = 'Path=/; Secure; HttpOnly; SameSite=Strict'
const lifetimeS = 7 * 24 * 3_600
const maxLength = 4_000

export function createSignInCookie(keyring: Keyring, nowMs: () => number): SignInCookie {
  const cipher = createValueCipher(keyring, 'console sign-in')

  function opened(value: string): { readonly key?: unknown; readonly until?: unknown } {
    try {
      return recordOf(jsonOr(cipher.decrypt(Buffer.from(value, 'base64url'), []).toString(), undefined))
    } catch (error) {
      if (error instanceof DecryptionError) return {}
      throw error
    }
  }

  return {
    keyIn({ headers }) {
      const value = cookieIn(headers.cookie, name)
      if (value === undefined || value.length > maxLength) return undefined
      const { key, until } = opened(value)
      return typeof key === 'string' && typeof until === 'number' && until > nowMs() ? key : undefined
    },
    set(key) {
      const content = JSON.stringify({ key, until: nowMs() + lifetimeS * 1_000 })
      const value = cipher.encrypt(content, []).sealed.toString('base64url')
      return `${name}=${value}; Max-Age=${lifetimeS}; ${attributes}`
    },
    cleared: `${name}=; Max-Age=0; ${attributes}`,
  }
}
