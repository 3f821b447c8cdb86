import { isDeepStrictEqual } from 'node:util'
import type { WholeEchoes } from '../../platform/echoes.ts'
import type { Runtime, RuntimeEndpoint, RuntimeKind } from '../runtime.ts'
import { withoutSecrets } from '../without-secrets.ts'

/** A runtime that holds resources, such as processes. */
interface Closable extends Runtime {
  close?(): Promise<void>
}

interface Source {
  readonly kind: RuntimeKind
  readonly endpoint: RuntimeEndpoint
}

interface CachedRuntime extends Source {
  readonly runtime: Runtime
  /** Closes the runtime once its last run has ended. */
  drop(): void
  close(): Promise<void>
}

/**
 * Cache of one runtime per endpoint, so that runs share connections. A changed endpoint gets a new one; running runs
 * finish.
 */
export function createRuntimeCache({ models }: { models: () => WholeEchoes }) {
  const cached = new Map<string, CachedRuntime>()
  /** Dropped runtimes with running runs. */
  const leaving = new Set<CachedRuntime>()

  const drop = (id: string): void => {
    const one = cached.get(id)
    cached.delete(id)
    one?.drop()
  }

  return {
    drop,

    get(kind: RuntimeKind, endpoint: RuntimeEndpoint): Runtime {
      const { id } = endpoint
      const before = cached.get(id)
      if (before?.kind === kind && isDeepStrictEqual(before.endpoint, endpoint)) return before.runtime
      drop(id)
      const made = createCached({ kind, endpoint }, { leaving, models })
      cached.set(id, made)
      return made.runtime
    },

    async close(): Promise<void> {
      const all = [...cached.values(), ...leaving]
      cached.clear()
      await Promise.all(all.map(one => one.close()))
    },
  }
}

function createCached(
  { kind, endpoint }: Source,
  { leaving, models }: { leaving: Set<CachedRuntime>; models: () => WholeEchoes },
): CachedRuntime {
  const inner: Closable = kind.connect(endpoint)
  const run = withoutSecrets((...task) => inner.run(...task), { endpoint, models })
  let runs = 0
  let isDropped = false
  let closed: Promise<void> | undefined
  const close = (): Promise<void> => {
    leaving.delete(made)
    closed ??= inner.close?.() ?? Promise.resolve()
    return closed
  }
  const closeWhenIdle = (): void => {
    // The result is not awaited; resources that fail to close are freed with the process.
    if (isDropped && runs === 0) close().catch(() => undefined)
  }
  const made: CachedRuntime = {
    kind,
    endpoint,
    runtime: {
      id: inner.id,
      capabilities: inner.capabilities,
      ...(inner.namesProviders && { namesProviders: true }),
      ...(inner.hasOwnModels && { hasOwnModels: true }),
      ...(inner.workspace && { workspace: inner.workspace }),
      ...(inner.reads && { reads: inner.reads }),
      dispose: session => inner.dispose(session),
      async *run(...task) {
        runs++
        try {
          yield* run(...task)
        } finally {
          runs--
          closeWhenIdle()
        }
      },
    },
    drop() {
      isDropped = true
      leaving.add(made)
      closeWhenIdle()
    },
    close,
  }
  return made
}
