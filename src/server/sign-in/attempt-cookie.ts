import type { IncomingMessage } from 'node:http'
import { cookieIn } from '../http/cookies.ts'
import { createValueCipher, DecryptionError, type Keyring } from '../platform/encryption.ts'
import { jsonOr, nonEmptyText, recordOf } from '../platform/json.ts'

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

const name = '__Host-switchyard-sso'
/** Lax: the way back from the provider is a navigation from another site, with which browsers send no strict cookie. */
const attributes = 'Path=/; Secure; HttpOnly; SameSite=Lax'
const maxLength = 2_000

/** Time that a person has to sign in at the identity provider. */
export const attemptSeconds = 600

export function createAttemptCookie(keyring: Keyring, nowMs: () => number): AttemptCookie {
  const cipher = createValueCipher(keyring, 'console single sign-on')

  function opened(value: string) {
    try {
      return recordOf(jsonOr(cipher.decrypt(Buffer.from(value, 'base64url'), []).toString(), undefined))
    } catch (error) {
      if (error instanceof DecryptionError) return {}
      throw error
    }
  }

  return {
    set(attempt) {
      const content = JSON.stringify({ ...attempt, until: nowMs() + attemptSeconds * 1_000 })
      const value = cipher.encrypt(content, []).sealed.toString('base64url')
      return `${name}=${value}; Max-Age=${attemptSeconds}; ${attributes}`
    },
    attemptIn({ headers }) {
      const value = cookieIn(headers.cookie, name)
      if (value === undefined || value.length > maxLength) return undefined
      const { until, ...fields } = opened(value)
      const state = nonEmptyText(fields['state'])
      const nonce = nonEmptyText(fields['nonce'])
      const verifier = nonEmptyText(fields['verifier'])
      const isValid = typeof until === 'number' && until > nowMs()
      return isValid && state && nonce && verifier ? { state, nonce, verifier } : undefined
    },
    cleared: `${name}=; Max-Age=0; ${attributes}`,
  }
}
