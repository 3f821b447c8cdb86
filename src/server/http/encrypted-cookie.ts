import type { IncomingMessage } from 'node:http'
import { createValueCipher, DecryptionError, type Keyring } from '../platform/encryption.ts'
import { type Json, jsonOr, recordOf } from '../platform/json.ts'
import { cookieIn } from './cookies.ts'

interface Options {
  readonly keyring: Keyring
  /** What the cookie is for. Values of one purpose are not valid for another. */
  readonly purpose: string
  /** The prefix makes browsers accept it only over https or from loopback, for this host and every path. */
  readonly name: `__Host-${string}`
  readonly sameSite: 'Strict' | 'Lax'
  readonly lifetimeS: number
  /** Longer values are not decrypted. */
  readonly maxLength: number
  readonly nowMs: () => number
}

/** A cookie whose fields the browser cannot read or change, for a limited time. Security: S43. */
export interface EncryptedCookie {
  /** Returns the value of `set-cookie`. */
  set(fields: Json): string
  /** Returns the fields in the cookie of a request; undefined without one, and for one that is expired or changed. */
  fieldsIn(request: Pick<IncomingMessage, 'headers'>): Json | undefined
  /** Value of `set-cookie` that removes it. */
  readonly cleared: string
}

export function createEncryptedCookie(options: Options): EncryptedCookie {
  const { keyring, purpose, name, sameSite, lifetimeS, maxLength, nowMs } = options
  const cipher = createValueCipher(keyring, purpose)
  const attributes = `Path=/; Secure; HttpOnly; SameSite=${sameSite}`

  function opened(value: string): Json {
    try {
      return recordOf(jsonOr(cipher.decrypt(Buffer.from(value, 'base64url'), []).toString(), undefined))
    } catch (error) {
      if (error instanceof DecryptionError) return {}
      throw error
    }
  }

  return {
    set(fields) {
      const content = JSON.stringify({ ...fields, until: nowMs() + lifetimeS * 1_000 })
      const value = cipher.encrypt(content, []).sealed.toString('base64url')
      return `${name}=${value}; Max-Age=${lifetimeS}; ${attributes}`
    },
    fieldsIn({ headers }) {
      const value = cookieIn(headers.cookie, name)
      if (value === undefined || value.length > maxLength) return undefined
      const { until, ...fields } = opened(value)
      return typeof until === 'number' && until > nowMs() ? fields : undefined
    },
    cleared: `${name}=; Max-Age=0; ${attributes}`,
  }
}
