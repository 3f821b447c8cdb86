import { createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import type { ReasoningSeal } from './codec.ts'

/** How every signature of ours begins. No provider's own one does. */
export const sealPrefix = 'sy1.'

/** Seals for one provider and model. */
export type ReasoningSeals = (bound: { readonly provider: string; readonly model: string }) => ReasoningSeal

/** Longer states are not carried: a request could not hold many of them. */
const maxSealLength = 4 * 1024 * 1024

/**
 * Signatures `sy1.keyId.payload.mac`: the payload names provider and model and holds the opaque state, the mac is
 * HMAC-SHA-256 under a sub-key of `secret` (32 bytes or more). All replicas that share the secret read each other's.
 * Source: Gateway, section 2.3.
 */
export function createReasoningSeals(secret: Buffer): ReasoningSeals {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'switchyard reasoning seal', 32))
  const keyId = createHash('sha256').update(key).digest('hex').slice(0, 8)
  const macOf = (head: string): Buffer => createHmac('sha256', key).update(head).digest()

  return ({ provider, model }) => ({
    seal(state) {
      const payload = Buffer.from(JSON.stringify({ provider, model, state })).toString('base64url')
      const head = `${sealPrefix}${keyId}.${payload}`
      return `${head}.${macOf(head).toString('base64url')}`
    },
    open(signature) {
      if (!signature.startsWith(`${sealPrefix}${keyId}.`) || signature.length > maxSealLength) return undefined
      const end = signature.lastIndexOf('.')
      const head = signature.slice(0, end)
      const mac = Buffer.from(signature.slice(end + 1), 'base64url')
      const expected = macOf(head)
      if (mac.length !== expected.length || !timingSafeEqual(mac, expected)) return undefined
      // The mac holds, so this is what `seal` wrote.
      const payload = JSON.parse(Buffer.from(head.slice(sealPrefix.length + 9), 'base64url').toString()) as Payload
      return payload.provider === provider ? payload.state : undefined
    },
  })
}

interface Payload {
  readonly provider: string
  readonly model: string
  readonly state: string
}
