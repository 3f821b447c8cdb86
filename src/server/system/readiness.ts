/** Why the process cannot do its work now, in words for the operator; undefined when it can. */
export type ReadinessCheck = () => Promise<string | undefined>

/** Whether this process should get traffic. */
export interface Readiness {
  /** Why not; empty means ready. The checks run at most every 2 s, and never twice at the same time. */
  reasons(): Promise<readonly string[]>
  /** From now on the process is leaving: never ready again. */
  leave(): void
}

const freshMs = 2_000
const checkTimeoutMs = 2_000

/** Ready while no check has a reason against it and the process is not leaving. */
export function createReadiness(checks: readonly ReadinessCheck[], nowMs = () => performance.now()): Readiness {
  let isLeaving = false
  let last: { readonly reasons: Promise<readonly string[]>; readonly untilMs: number } | undefined

  async function runAll(): Promise<readonly string[]> {
    const found = await Promise.all(checks.map(check => check()))
    return found.filter(reason => reason !== undefined)
  }

  return {
    async reasons() {
      if (!last || last.untilMs <= nowMs()) last = { reasons: runAll(), untilMs: nowMs() + freshMs }
      const reasons = await last.reasons
      return isLeaving ? ['the process is stopping', ...reasons] : reasons
    },
    leave() {
      isLeaving = true
    },
  }
}

/** What `work` finds, or `late` when that takes longer than 2 s. */
export function inTime<T>(work: Promise<T>, late: T): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, checkTimeoutMs, late)
    timer.unref()
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
