import type { Deployment } from '../../config/config.ts'
import type { DeployedModel } from '../call.ts'

interface Picking {
  readonly random: () => number
  /** Calls with the same one go to the same deployment, as long as it is among the targets. */
  readonly session: string | undefined
  /** True for a deployment that has as much to do as it should; such are taken only when all are. */
  readonly isFull: (deployment: Deployment) => boolean
}

/**
 * One of `targets` by weight. Those with room come before full ones, and weight 0 comes after all others with room.
 * Source: Gateway, section 3.
 */
export function pick<T extends DeployedModel>(
  targets: readonly T[],
  { random, session, isFull }: Picking,
): T | undefined {
  if (targets.length < 2) return targets[0]
  const free = targets.filter(({ deployment }) => !isFull(deployment))
  const candidates = weighty(free.length > 0 ? free : targets)
  return session === undefined ? byWeight(candidates, random) : bySession(candidates, session)
}

function weighty<T extends DeployedModel>(targets: readonly T[]): readonly T[] {
  const usual = targets.filter(({ deployment }) => deployment.weight > 0)
  return usual.length > 0 ? usual : targets
}

function byWeight<T extends DeployedModel>(targets: readonly T[], random: () => number): T | undefined {
  const total = targets.reduce((sum, { deployment }) => sum + deployment.weight, 0)
  if (total === 0) return targets[Math.floor(random() * targets.length)]
  let left = random() * total
  return targets.find(({ deployment }) => {
    left -= deployment.weight
    return left < 0
  })
}

/**
 * Weighted rendezvous hashing: each target draws a score from the session and its own id, the best wins. A target that
 * comes or goes moves only its own sessions. All replicas draw the same.
 */
function bySession<T extends DeployedModel>(targets: readonly T[], session: string): T | undefined {
  let best: T | undefined
  let bestScore = Number.NEGATIVE_INFINITY
  for (const target of targets) {
    const { id, weight } = target.deployment
    const score = (weight || 1) / -Math.log(drawOf(`${session} ${id}`))
    if (score > bestScore) {
      bestScore = score
      best = target
    }
  }
  return best
}

/** A number between 0 and 1, both excluded, that is the same for the same text. FNV-1a with Murmur3's last mix. */
function drawOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (((hash ^ (hash >>> 16)) >>> 0) + 0.5) / 2 ** 32
}
