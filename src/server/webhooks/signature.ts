import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { WebhookSignature } from '../../contract/webhooks.ts'
import type { Claim } from './presets.ts'

const toleranceMs = 300_000

/** True while a claim's time is near enough, or when its scheme has none. Gaps: section 11, rule 3. */
export const isFresh = ({ signedAtMs }: Claim, nowMs: number): boolean =>
  signedAtMs === undefined || Math.abs(nowMs - signedAtMs) <= toleranceMs

/** True when one of the live secrets made one of the signatures over the raw body. Security: S28. */
export function isSignedBy(secrets: readonly string[], claim: Claim, body: Buffer): boolean {
  let isRight = false
  for (const secret of secrets) {
    const key = claim.keyOf(secret)
    // An empty key would accept what anybody can sign.
    if (key.length === 0) continue
    const expected = createHmac(claim.algorithm, key).update(claim.before).update(body).digest()
    for (const given of claim.signatures) {
      // Each is looked at, so that the time tells nothing of which secret fits.
      if (given.length === expected.length && timingSafeEqual(given, expected)) isRight = true
    }
  }
  return isRight
}

/**
 * SHA-256 of what was signed, by which a delivery that comes again under another id is recognised; undefined where equal
 * bodies are separate deliveries. It does not depend on the secret, so leaving out one of several signatures of the
 * sender does not change it.
 */
export function digestOfSigned({ preset, dedupe }: WebhookSignature, claim: Claim, body: Buffer): Buffer | undefined {
  const isOnce = claim.signedAtMs !== undefined || (dedupe ?? (preset === 'github' ? 'body' : 'none')) === 'body'
  return isOnce ? createHash('sha256').update(claim.before).update(body).digest() : undefined
}
