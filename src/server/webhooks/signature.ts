import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { WebhookSignature } from '../../contract/webhooks.ts'
import type { Claim } from './presets.ts'

const toleranceMs = 300_000

/** True when the signature is at most 300 s old or ahead, or its scheme has no time. Gaps: section 11, rule 3. */
export const isFresh = ({ signedAtMs }: Claim, nowMs: number): boolean =>
  signedAtMs === undefined || Math.abs(nowMs - signedAtMs) <= toleranceMs

/** True when one of the secrets made one of the signatures over the raw body. Security: S28. */
export function isSignedBy(secrets: readonly string[], claim: Claim, body: Buffer): boolean {
  let isRight = false
  for (const secret of secrets) {
    const key = claim.keyOf(secret)
    // An empty key would accept a signature that anyone can make.
    if (key.length === 0) continue
    const expected = createHmac(claim.algorithm, key).update(claim.before).update(body).digest()
    for (const given of claim.signatures) {
      // Compare all, so that the time does not reveal which secret matches.
      if (given.length === expected.length && timingSafeEqual(given, expected)) isRight = true
    }
  }
  return isRight
}

/**
 * Returns the SHA-256 of the signed bytes, which detects a delivery that is sent again under another id; undefined
 * where equal bodies are separate deliveries. It does not depend on the secret, so omitting one of several signatures
 * does not change it.
 */
export function digestOfSigned({ preset, dedupe }: WebhookSignature, claim: Claim, body: Buffer): Buffer | undefined {
  const isOnce = claim.signedAtMs !== undefined || (dedupe ?? (preset === 'github' ? 'body' : 'none')) === 'body'
  return isOnce ? createHash('sha256').update(claim.before).update(body).digest() : undefined
}
