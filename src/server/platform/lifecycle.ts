import type { Log } from './log.ts'

/** Something of the service that runs by itself, or that must be closed. */
export interface Component {
  start?(): void | Promise<void>
  /** Finishes what is in flight, within `graceMs`. */
  drain?(graceMs: number): void | Promise<void>
  stop?(): void | Promise<void>
  /** True: started only in processes that run sessions. */
  readonly isForSessions?: boolean
}

export interface Lifecycle {
  /** Starts the components in order. Rejects with the first error, and starts no further component. */
  start(): Promise<void>
  /** Drains all components at the same time, and then stops them in reverse order. */
  stop(graceMs: number): Promise<void>
}

interface Options {
  readonly runsSessions: boolean
  readonly log: Pick<Log, 'error'>
}

/**
 * Returns the lifecycle of components, which are given in the order in which they were built: each may use those before
 * it. A component that cannot drain or stop is logged, and does not prevent the others from stopping. `stop` also stops
 * components that were not started.
 */
export function createLifecycle(components: readonly Component[], { runsSessions, log }: Options): Lifecycle {
  const logged = async (work: () => void | Promise<void> | undefined): Promise<void> => {
    try {
      await work()
    } catch (error) {
      log.error({ err: error }, 'cannot stop a part of the service')
    }
  }
  return {
    async start() {
      for (const component of components) if (runsSessions || !component.isForSessions) await component.start?.()
    },
    async stop(graceMs) {
      await Promise.all(components.map(component => logged(() => component.drain?.(graceMs))))
      for (const component of components.toReversed()) await logged(() => component.stop?.())
    },
  }
}
