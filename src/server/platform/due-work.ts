import { every } from './timers.ts'

interface Options {
  /** Returns functions for the kinds of work that are due. Each does one piece, and returns false when there is none. */
  readonly steps: () => Promise<readonly (() => Promise<boolean>)[]>
  readonly onError: (cause: unknown) => void
}

/** Work that becomes due by time. */
export interface DueWork {
  /** Does everything that is due now; other replicas may share the work. */
  poll(): Promise<void>
  /** Polls every second. */
  start(): void
  /** Waits for the running poll. */
  stop(): Promise<void>
}

const periodMs = 1_000

/** Does what is due, one kind after the other, until nothing of it is left or the process stops. */
export function createDueWork({ steps, onError }: Options): DueWork {
  const stopping = new AbortController()
  let stopTimer: (() => Promise<void>) | undefined

  async function poll(): Promise<void> {
    for (const step of await steps()) while (!stopping.signal.aborted && (await step()));
  }

  return {
    poll,
    start() {
      stopTimer = every(periodMs, () => poll().catch(onError))
    },
    async stop() {
      stopping.abort()
      await stopTimer?.()
    },
  }
}
