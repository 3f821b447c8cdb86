import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { Keyring } from '../../platform/seal.ts'
import type { CallSignatures, ReasoningSeal } from './codec.ts'

/** How every signature of ours begins. No provider's own one does. */
export const sealPrefix = 'sy1.'

/** Seals for one provider and model. */
export type ReasoningSeals = (bound: { readonly provider: string; readonly model: string }) => ReasoningSeal

/** Longer states are not carried: a request could not hold many of them. */
const maxSealLength = 4 * 1024 * 1024

/** A sub-key of one encryption key, and its name in signatures. */
interface SignatureKey {
  readonly id: string
  readonly key: Buffer
}

/**
 * Signatures `sy1.keyId.payload.mac`: the payload names provider and model and holds the opaque state, the mac is
 * HMAC-SHA-256 under a sub-key of the ring's first key. All replicas that share the ring read each other's, those under
 * its older keys too. Source: Gateway, section 2.3.
 */
export function createReasoningSeals(keyring: Keyring): ReasoningSeals {
  const keys = keyring.ids.flatMap(id => keyring.derive(id, 'reasoning seal') ?? []).map(named)
  const [current] = keys
  if (!current) throw new Error('a keyring needs a key')

  const payloadOf = (signature: string): Payload | undefined => {
    const signer = keys.find(({ id }) => signature.startsWith(`${sealPrefix}${id}.`))
    if (!signer || signature.length > maxSealLength) return undefined
    const end = signature.lastIndexOf('.')
    const head = signature.slice(0, end)
    // As text: decoding would skip what is not of the encoding.
    const mac = Buffer.from(signature.slice(end + 1))
    const expected = Buffer.from(macOf(head, signer).toString('base64url'))
    if (mac.length !== expected.length || !timingSafeEqual(mac, expected)) return undefined
    // The mac holds, so this is what `seal` wrote.
    return JSON.parse(Buffer.from(head.slice(sealPrefix.length + 9), 'base64url').toString()) as Payload
  }

  return ({ provider, model }) => ({
    seal(state) {
      const payload = Buffer.from(JSON.stringify({ provider, model, state })).toString('base64url')
      const head = `${sealPrefix}${current.id}.${payload}`
      return `${head}.${macOf(head, current).toString('base64url')}`
    },
    open(signature) {
      const payload = payloadOf(signature)
      return payload?.provider === provider ? payload.state : undefined
    },
    openOwn(signature) {
      const payload = payloadOf(signature)
      return payload?.provider === provider && payload.model === model ? payload.state : undefined
    },
  })
}

const named = (key: Buffer): SignatureKey => ({ id: createHash('sha256').update(key).digest('hex').slice(0, 8), key })

const macOf = (head: string, { key }: SignatureKey): Buffer => createHmac('sha256', key).update(head).digest()

interface Payload {
  readonly provider: string
  readonly model: string
  readonly state: string
}

/** Keeps signatures in memory, the most recently used `capacity` of them. */
export function createCallSignatures(capacity = 10_000): CallSignatures {
  // A Map keeps the order of insertion: the first is the one unused for the longest time.
  const kept = new Map<string, string>()
  const put = (toolUseId: string, signature: string): void => {
    kept.delete(toolUseId)
    kept.set(toolUseId, signature)
  }
  return {
    remember(toolUseId, signature) {
      put(toolUseId, signature)
      const [oldest] = kept.keys()
      if (kept.size > capacity && oldest !== undefined) kept.delete(oldest)
    },
    recall(toolUseId) {
      const signature = kept.get(toolUseId)
      if (signature !== undefined) put(toolUseId, signature)
      return signature
    },
  }
}
