/** How long a run has worked, without the time in which it waits for people. */
export interface RunClock {
  /** Aborts when the limit is reached. */
  readonly signal: AbortSignal
  /** Milliseconds, those of the runs before it included. */
  ranMs(): number
  pause(): void
  goOn(): void
  end(): void
}

interface Options {
  /** Of the agent; 0 for none. */
  readonly limitSeconds: number
  /** What runs of the same prompt took before they had to wait. */
  readonly ranMs: number
}

/** Starts the clock of a run; its process may end before the run, which counts that part of it anew. */
export function startRunClock({ limitSeconds, ranMs }: Options): RunClock {
  const reached = new AbortController()
  let before = ranMs
  let since: number | undefined = performance.now()
  let timer: NodeJS.Timeout | undefined
  const now = (): number => before + (since === undefined ? 0 : performance.now() - since)
  const watch = (): void => {
    if (limitSeconds > 0) timer = setTimeout(() => reached.abort(), Math.max(0, limitSeconds * 1000 - now()))
  }
  watch()
  return {
    signal: reached.signal,
    ranMs: now,
    pause() {
      before = now()
      since = undefined
      clearTimeout(timer)
    },
    goOn() {
      since ??= performance.now()
      watch()
    },
    end: () => clearTimeout(timer),
  }
}
