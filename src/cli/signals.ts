export interface StopSignals {
  /** Aborts at the first request to stop; the reason is the name of the signal. */
  readonly stop: AbortSignal
  /** To be called for each signal of the system. */
  onSignal(name: NodeJS.Signals): void
}

/**
 * One Ctrl-C reaches a program several times: from the terminal, and once more from each program between the two that
 * passes it on. In this time they count as one.
 */
const oneRequestMs = 500

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
      } else if (nowMs() - firstAtMs > oneRequestMs) {
        quit()
      }
    },
  }
}
