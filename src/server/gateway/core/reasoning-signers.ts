import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { Keyring } from '../../platform/encryption.ts'
import type { CallSignatures, ReasoningSigner } from './codec.ts'

/** Prefix of every signature made here. Signatures of providers do not begin with it. */
export const signaturePrefix = 'sy1.'

/** Returns the signer for a provider and model. */
export type ReasoningSigners = (bound: { readonly provider: string; readonly model: string }) => ReasoningSigner

/** Longer signatures are ignored: a request could not contain many of them. */
const maxSignatureLength = 4 * 1024 * 1024

/** Sub-key of an encryption key, and its id in signatures. */
interface SignatureKey {
  readonly id: string
  readonly key: Buffer
}

/**
 * Creates signers. A signature is `sy1.keyId.payload.mac`: the payload contains provider, model and the opaque state,
 * not encrypted; the mac is HMAC-SHA-256 under a sub-key of the ring's first key. All replicas with the same ring
 * accept each other's signatures, also those under older keys. Source: Gateway, section 2.3.
 */
export function createReasoningSigners(keyring: Keyring): ReasoningSigners {
  const keys = keyring.ids.flatMap(id => keyring.derive(id, 'reasoning seal') ?? []).map(named)
  const [current] = keys
  if (!current) throw new Error('keyring must contain a key')

  const payloadOf = (signature: string): Payload | undefined => {
    const signer = keys.find(({ id }) => signature.startsWith(`${signaturePrefix}${id}.`))
    if (!signer || signature.length > maxSignatureLength) return undefined
    const end = signature.lastIndexOf('.')
    const head = signature.slice(0, end)
    // Compared as text: decoding would ignore invalid characters.
    const mac = Buffer.from(signature.slice(end + 1))
    const expected = Buffer.from(macOf(head, signer).toString('base64url'))
    if (mac.length !== expected.length || !timingSafeEqual(mac, expected)) return undefined
    // The mac is valid, so `sign` wrote this payload.
    return JSON.parse(Buffer.from(head.slice(signaturePrefix.length + 9), 'base64url').toString()) as Payload
  }

  return ({ provider, model }) => ({
    sign(state) {
      const payload = Buffer.from(JSON.stringify({ provider, model, state })).toString('base64url')
      const head = `${signaturePrefix}${current.id}.${payload}`
      return `${head}.${macOf(head, current).toString('base64url')}`
    },
    stateOf(signature) {
      const payload = payloadOf(signature)
      return payload?.provider === provider ? payload.state : undefined
    },
    ownStateOf(signature) {
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

/** Creates a store in memory with the `capacity` most recently used signatures. */
export function createCallSignatures(capacity = 10_000): CallSignatures {
  // A Map iterates in order of insertion: the first entry is the least recently used.
  const signatures = new Map<string, string>()
  const put = (toolUseId: string, signature: string): void => {
    signatures.delete(toolUseId)
    signatures.set(toolUseId, signature)
  }
  return {
    set(toolUseId, signature) {
      put(toolUseId, signature)
      const [oldest] = signatures.keys()
      if (signatures.size > capacity && oldest !== undefined) signatures.delete(oldest)
    },
    get(toolUseId) {
      const signature = signatures.get(toolUseId)
      if (signature !== undefined) put(toolUseId, signature)
      return signature
    },
  }
}
