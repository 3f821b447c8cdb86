import type { Deployment } from '../../config/config.ts'
import type { DeployedModel } from '../core/call.ts'

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

/** A call at work at a deployment. */
interface Visit {
  /** Counts the call out with the tokens that it used. Repeating it is harmless. */
  leave(tokens: number): void
}

/** What was counted for one deployment since the last time that it was told: id, calls, tokens. */
export type LoadNews = readonly [id: string, calls: number, tokens: number]

/**
 * What each deployment has to do. The counters of `rpm` and `tpm` are soft: each process counts its own calls and adds
 * what the others tell, into the one-minute window that it is in. News that is lost only lets a few calls more through.
 */
export interface Load {
  enter(deployment: Deployment): Visit
  /** True at the deployment's own limit of calls a minute, tokens a minute, or calls at a time in this process. */
  isFull(deployment: Deployment): boolean
  /** Calls at work in this process. */
  callsAt(deployment: Deployment): number
  /** What is new about deployments that have limits a minute. Each piece of news is given once. */
  takeNews(): LoadNews[]
  /** Adds what another process has counted. */
  add(deployment: Deployment, calls: number, tokens: number): void
}

interface Entry {
  atWork: number
  /** The minute that `calls` and `tokens` belong to. */
  minute: number
  calls: number
  tokens: number
  untoldCalls: number
  untoldTokens: number
}

const windowMs = 60_000

/** `nowMs` is monotonic. */
export function createLoad(nowMs: () => number): Load {
  const entries = new WeakMap<Deployment, Entry>()
  /** Deployments with limits a minute that have something to tell. */
  const untold = new Map<Deployment, Entry>()

  const current = (deployment: Deployment): Entry => {
    const minute = Math.floor(nowMs() / windowMs)
    const known = entries.get(deployment)
    if (known?.minute === minute) return known
    const entry = known ?? { atWork: 0, minute, calls: 0, tokens: 0, untoldCalls: 0, untoldTokens: 0 }
    Object.assign(entry, { minute, calls: 0, tokens: 0 })
    entries.set(deployment, entry)
    return entry
  }

  const count = (deployment: Deployment, calls: number, tokens: number): void => {
    const entry = current(deployment)
    entry.calls += calls
    entry.tokens += tokens
    if (deployment.rpm === undefined && deployment.tpm === undefined) return
    entry.untoldCalls += calls
    entry.untoldTokens += tokens
    untold.set(deployment, entry)
  }

  return {
    enter(deployment) {
      const entry = current(deployment)
      entry.atWork++
      count(deployment, 1, 0)
      let isAtWork = true
      return {
        leave(tokens) {
          if (!isAtWork) return
          isAtWork = false
          entry.atWork--
          if (tokens > 0) count(deployment, 0, tokens)
        },
      }
    },
    isFull(deployment) {
      const { rpm, tpm, maxParallel } = deployment
      if (rpm === undefined && tpm === undefined && maxParallel === undefined) return false
      const { calls, tokens, atWork } = current(deployment)
      return (
        calls >= (rpm ?? Number.POSITIVE_INFINITY) ||
        tokens >= (tpm ?? Number.POSITIVE_INFINITY) ||
        atWork >= (maxParallel ?? Number.POSITIVE_INFINITY)
      )
    },
    callsAt: deployment => entries.get(deployment)?.atWork ?? 0,
    takeNews() {
      const news = [...untold].map(([{ id }, entry]): LoadNews => {
        const { untoldCalls, untoldTokens } = entry
        Object.assign(entry, { untoldCalls: 0, untoldTokens: 0 })
        return [id, untoldCalls, untoldTokens]
      })
      untold.clear()
      return news
    },
    add(deployment, calls, tokens) {
      const entry = current(deployment)
      entry.calls += calls
      entry.tokens += tokens
    },
  }
}
