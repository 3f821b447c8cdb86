/** Returns why the process cannot work now, as a text for the operator; undefined when it can. */
export type ReadinessCheck = () => Promise<string | undefined>

/** Whether this process should get traffic. */
export interface Readiness {
  /** Reasons why not; empty when ready. The checks run at most every 2 s, and never concurrently. */
  reasons(): Promise<readonly string[]>
  /** Marks the process as stopping: it is never ready again. */
  leave(): void
}

const freshMs = 2_000
const checkTimeoutMs = 2_000

/** Ready while every check passes and the process is not stopping. */
export function createReadiness(checks: readonly ReadinessCheck[], nowMs = () => performance.now()): Readiness {
  let isStopping = false
  let last: { readonly reasons: Promise<readonly string[]>; readonly untilMs: number } | undefined

  async function runAll(): Promise<readonly string[]> {
    const found = await Promise.all(checks.map(check => check()))
    return found.filter(reason => reason !== undefined)
  }

  return {
    async reasons() {
      if (!last || last.untilMs <= nowMs()) last = { reasons: runAll(), untilMs: nowMs() + freshMs }
      const reasons = await last.reasons
      return isStopping ? ['process is stopping', ...reasons] : reasons
    },
    leave() {
      isStopping = true
    },
  }
}

/** Returns the result of `work`, or `late` after 2 s. */
export function inTime<T>(work: Promise<T>, late: T): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, checkTimeoutMs, late)
    timer.unref()
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
