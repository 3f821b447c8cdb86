import type { Log } from './log.ts'

/** Part of a process that has background work or connections. */
export interface Part {
  /** Names the part in the log. */
  readonly name: string
  /** True for work of sessions: only processes that run sessions start it. */
  readonly isSessionWork?: boolean
  /** Starts the background work. */
  start?(): void | Promise<void>
  /** Finishes accepted work within `graceMs`. Runs at the same time as the drains of all parts. */
  drain?(graceMs: number): Promise<void>
  /** Stops the work and releases the connections. Must also work for a part that was not started. */
  stop?(): void | Promise<void>
}

/** Starts and stops the parts of a process. */
export interface Lifecycle {
  /** Starts the parts one after another. When one cannot start, stops all parts and rejects with its error. */
  start(): Promise<void>
  /**
   * Drains all parts at once, then stops them one after another in reverse order. Logs failures and continues; never
   * rejects. Further calls wait for the first.
   */
  stop(graceMs: number): Promise<void>
}

interface Deps {
  /** In the order in which they were built. */
  readonly parts: readonly Part[]
  readonly runsSessions: boolean
  readonly log: Pick<Log, 'warn'>
}

export function createLifecycle({ parts, runsSessions, log }: Deps): Lifecycle {
  const reversed = parts.toReversed()
  let stopping: Promise<void> | undefined

  /** Runs one step of a stop. A failure must not keep the other parts from stopping. */
  async function attempt({ name }: Part, step: () => void | Promise<void> | undefined): Promise<void> {
    try {
      await step()
    } catch (cause) {
      log.warn({ err: cause, part: name }, 'cannot stop a part of the server; stopping the others')
    }
  }

  async function stopAll(graceMs: number): Promise<void> {
    await Promise.all(reversed.map(part => attempt(part, () => part.drain?.(graceMs))))
    for (const part of reversed) await attempt(part, () => part.stop?.())
  }

  function stop(graceMs: number): Promise<void> {
    stopping ??= stopAll(graceMs)
    return stopping
  }

  return {
    async start() {
      try {
        for (const part of parts) if (runsSessions || !part.isSessionWork) await part.start?.()
      } catch (cause) {
        await stop(0)
        throw cause
      }
    },
    stop,
  }
}
