import { isDeepStrictEqual } from 'node:util'
import type { WholeEchoes } from '../../platform/echoes.ts'
import type { Runtime, RuntimeEndpoint, RuntimeKind } from '../runtime.ts'
import { withoutSecrets } from '../without-secrets.ts'

/** A runtime that holds something, such as a process. */
interface Closable extends Runtime {
  close?(): Promise<void>
}

interface Given {
  readonly kind: RuntimeKind
  readonly endpoint: RuntimeEndpoint
}

interface Kept extends Given {
  readonly runtime: Runtime
  /** Closes it once its last run has ended. */
  drop(): void
  close(): Promise<void>
}

/** One runtime an endpoint, so that runs share its connections. A changed endpoint gets a new one; runs at work end on the old. */
export function createKeptRuntimes({ models }: { models: () => WholeEchoes }) {
  const kept = new Map<string, Kept>()
  /** Dropped, but still at work. */
  const leaving = new Set<Kept>()

  const drop = (id: string): void => {
    const one = kept.get(id)
    kept.delete(id)
    one?.drop()
  }

  return {
    drop,

    get(kind: RuntimeKind, endpoint: RuntimeEndpoint): Runtime {
      const { id } = endpoint
      const before = kept.get(id)
      if (before?.kind === kind && isDeepStrictEqual(before.endpoint, endpoint)) return before.runtime
      drop(id)
      const made = keep({ kind, endpoint }, { leaving, models })
      kept.set(id, made)
      return made.runtime
    },

    async close(): Promise<void> {
      const all = [...kept.values(), ...leaving]
      kept.clear()
      await Promise.all(all.map(one => one.close()))
    },
  }
}

function keep({ kind, endpoint }: Given, { leaving, models }: { leaving: Set<Kept>; models: () => WholeEchoes }): Kept {
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
    // Nobody waits for it, and what does not close goes with the process.
    if (isDropped && runs === 0) close().catch(() => undefined)
  }
  const made: Kept = {
    kind,
    endpoint,
    runtime: {
      id: inner.id,
      capabilities: inner.capabilities,
      ...(inner.namesProviders && { namesProviders: true }),
      ...(inner.hasOwnModels && { hasOwnModels: true }),
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
