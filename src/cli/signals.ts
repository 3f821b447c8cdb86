export interface StopSignals {
  /** Aborts at the first request to stop; the reason is the name of the signal. */
  readonly stop: AbortSignal
  /** To be called for each signal of the system. */
  onSignal(name: NodeJS.Signals): void
}

/**
 * One request can arrive several times. Ctrl-C comes from the terminal, and again from each program between the two that
 * forwards it; a key may repeat. SIGTERM to a process group comes again from the launcher, at once. Within these
 * milliseconds they count as one.
 */
const oneRequestMs: Readonly<Partial<Record<NodeJS.Signals, number>>> = { SIGINT: 500, SIGTERM: 50 }

/** The first request asks to stop, the next one calls `quit`. */
export function createStopSignals({ quit, nowMs }: { quit: () => void; nowMs: () => number }): StopSignals {
  const controller = new AbortController()
  let firstAtMs: number | undefined
  return {
    stop: controller.signal,
    onSignal(name) {
      if (firstAtMs === undefined) {
        firstAtMs = nowMs()
        controller.abort(name)
      } else if (nowMs() - firstAtMs > (oneRequestMs[name] ?? 0)) {
        quit()
      }
    },
  }
}
