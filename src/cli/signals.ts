export interface StopSignals {
  /** Aborts at the first request to stop; the reason is the name of the signal. */
  readonly stop: AbortSignal
  /** Must be called for each signal of the system. */
  onSignal(name: NodeJS.Signals): void
}

/**
 * Window in milliseconds in which repeated signals count as one request. Ctrl-C arrives from the terminal and again
 * from each program that forwards it, and the key may repeat. SIGTERM to a process group arrives again from the
 * launcher, at once.
 */
const oneRequestMs: Readonly<Partial<Record<NodeJS.Signals, number>>> = { SIGINT: 500, SIGTERM: 50 }

/** The first request aborts `stop`; the next one calls `quit`. */
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
