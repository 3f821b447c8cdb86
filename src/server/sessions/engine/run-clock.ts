/** Measures how long a run has worked, without the time in which it waits for approval. */
export interface RunClock {
  /** Aborts when the limit is reached. */
  readonly signal: AbortSignal
  /** Milliseconds, including those of previous runs of the prompt. */
  ranMs(): number
  pause(): void
  resume(): void
  end(): void
}

interface Options {
  /** Limit of the agent in seconds; 0 means none. */
  readonly limitSeconds: number
  /** Milliseconds that previous runs of the same prompt worked before they had to wait. */
  readonly ranMs: number
}

/** Starts the clock of a run. When the process crashes, the time of the interrupted run is not counted. */
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
    resume() {
      since ??= performance.now()
      watch()
    },
    end: () => clearTimeout(timer),
  }
}
