import type { Deployment } from '../../config/config.ts'

/** A call at work at a deployment. */
export interface Visit {
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
