import type { Deployment } from '../../config/deployments.ts'
import type { DeployedModel } from '../core/call.ts'

interface Picking {
  readonly random: () => number
  /** Calls of the same session go to the same deployment, as long as it is among the targets. */
  readonly session: string | undefined
  /** True for a deployment at its limit, which is picked only when all targets are at theirs. */
  readonly isFull: (deployment: Deployment) => boolean
}

/**
 * Picks one of `targets` by weight. Full ones are picked only when all are full, and weight 0 only when no other has
 * room. Source: Gateway, section 3.
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
 * Weighted rendezvous hashing: the score of each target follows from the session and its id, and the best wins. Adding
 * or removing a target moves only its own sessions. All replicas pick the same target.
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

/** Hashes a text to a number between 0 and 1, both excluded. FNV-1a with the finalizer of Murmur3. */
function drawOf(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (((hash ^ (hash >>> 16)) >>> 0) + 0.5) / 2 ** 32
}

/** A call in flight at a deployment. */
interface InFlightCall {
  /** Ends the call and counts the tokens that it used. Further calls have no effect. */
  leave(tokens: number): void
}

/** Counts of one deployment since its last report: id, calls, tokens. */
export type LoadReport = readonly [id: string, calls: number, tokens: number]

/**
 * Load of each deployment. `rpm` and `tpm` are soft limits: each process counts its own calls and adds the reports of
 * the others to the current one-minute window. A lost report only lets a few more calls through.
 */
export interface Load {
  enter(deployment: Deployment): InFlightCall
  /** True at the deployment's limit of calls per minute, tokens per minute, or concurrent calls in this process. */
  isFull(deployment: Deployment): boolean
  /** Calls in flight in this process. */
  inFlightAt(deployment: Deployment): number
  /** Returns the unreported counts of deployments with limits per minute, and clears them. */
  takeReports(): LoadReport[]
  /** Adds the counts of another process. */
  add(deployment: Deployment, calls: number, tokens: number): void
}

interface Entry {
  inFlight: number
  /** The minute that `calls` and `tokens` belong to. */
  minute: number
  calls: number
  tokens: number
  unreportedCalls: number
  unreportedTokens: number
}

const windowMs = 60_000

/** `nowMs` is monotonic. */
export function createLoad(nowMs: () => number): Load {
  const entries = new WeakMap<Deployment, Entry>()
  /** Deployments with limits per minute that have unreported counts. */
  const unreported = new Map<Deployment, Entry>()

  const current = (deployment: Deployment): Entry => {
    const minute = Math.floor(nowMs() / windowMs)
    const known = entries.get(deployment)
    if (known?.minute === minute) return known
    const entry = known ?? { inFlight: 0, minute, calls: 0, tokens: 0, unreportedCalls: 0, unreportedTokens: 0 }
    Object.assign(entry, { minute, calls: 0, tokens: 0 })
    entries.set(deployment, entry)
    return entry
  }

  const count = (deployment: Deployment, calls: number, tokens: number): void => {
    const entry = current(deployment)
    entry.calls += calls
    entry.tokens += tokens
    if (deployment.rpm === undefined && deployment.tpm === undefined) return
    entry.unreportedCalls += calls
    entry.unreportedTokens += tokens
    unreported.set(deployment, entry)
  }

  return {
    enter(deployment) {
      const entry = current(deployment)
      entry.inFlight++
      count(deployment, 1, 0)
      let isInFlight = true
      return {
        leave(tokens) {
          if (!isInFlight) return
          isInFlight = false
          entry.inFlight--
          if (tokens > 0) count(deployment, 0, tokens)
        },
      }
    },
    isFull(deployment) {
      const { rpm, tpm, maxParallel } = deployment
      if (rpm === undefined && tpm === undefined && maxParallel === undefined) return false
      const { calls, tokens, inFlight } = current(deployment)
      return (
        calls >= (rpm ?? Number.POSITIVE_INFINITY) ||
        tokens >= (tpm ?? Number.POSITIVE_INFINITY) ||
        inFlight >= (maxParallel ?? Number.POSITIVE_INFINITY)
      )
    },
    inFlightAt: deployment => entries.get(deployment)?.inFlight ?? 0,
    takeReports() {
      const news = [...unreported].map(([{ id }, entry]): LoadReport => {
        const { unreportedCalls, unreportedTokens } = entry
        Object.assign(entry, { unreportedCalls: 0, unreportedTokens: 0 })
        return [id, unreportedCalls, unreportedTokens]
      })
      unreported.clear()
      return news
    },
    add(deployment, calls, tokens) {
      const entry = current(deployment)
      entry.calls += calls
      entry.tokens += tokens
    },
  }
}
