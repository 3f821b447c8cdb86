import { isDeepStrictEqual } from 'node:util'
import type { RuntimeTest } from '../../../contract/runtimes.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import { type ApiSpec, type RuntimeEndpoint, RuntimeFailure, type RuntimeKind, type RuntimeModel } from '../runtime.ts'
import type { KnownRuntime, KnownRuntimes } from './known-runtimes.ts'
import type { RuntimeStore } from './store.ts'

interface Deps {
  /** The id of the service's own runtime, which needs no test. */
  readonly ownId: string
  readonly kinds: ReadonlyMap<ApiSpec, RuntimeKind>
  readonly known: Pick<KnownRuntimes, 'find'>
  readonly store: Pick<RuntimeStore, 'setHealth'>
  readonly nowMs: () => number
  /** For one question to a runtime; 15,000 by default. */
  readonly timeoutMs?: number
}

/** Questions to foreign runtimes that start no run. */
export type Probes = ReturnType<typeof createProbes>

const modelsLiveMs = 60_000

export function createProbes({ ownId, kinds, known, store, nowMs, timeoutMs = 15_000 }: Deps) {
  const modelLists = createModelLists(nowMs)

  /** The part that speaks to a runtime; undefined while it cannot be used. */
  async function reach(id: string) {
    const found = await known.find(id)
    if (!found) throw notFound('runtime', id)
    const kind = kinds.get(found.spec)
    const { endpoint } = found
    return { found, target: kind && endpoint && { kind, endpoint } }
  }

  /** What goes wrong becomes `undefined`, with the words for the caller. */
  async function asked<T>(question: (signal: AbortSignal) => Promise<T>): Promise<{ value: T } | { error: string }> {
    const signal = AbortSignal.timeout(timeoutMs)
    try {
      return { value: await question(signal) }
    } catch (error) {
      if (error instanceof RuntimeFailure) return { error: error.message }
      if (signal.aborted) return { error: `the runtime did not answer within ${timeoutMs / 1000} s` }
      throw error
    }
  }

  return {
    /** Asks whether a runtime answers and takes the credential, and keeps what was said. `not_found` for an unknown name. */
    async test(id: string): Promise<RuntimeTest> {
      if (id === ownId) return { ok: true, latency_ms: 0 }
      const { found, target } = await reach(id)
      if (!target) return { ok: false, latency_ms: 0, error: reasonOf(found) }
      const began = nowMs()
      const answer = await asked(signal => target.kind.check(target.endpoint, signal))
      const latency_ms = Math.round(nowMs() - began)
      const error = 'error' in answer ? answer.error : null
      await store.setHealth({ id, api_base: found.apiBase, version: found.version, error })
      return { ok: error === null, latency_ms, ...(error !== null && { error }) }
    },

    /** Models of a foreign runtime, at most a minute old. `not_found` for an unknown name. */
    async models(id: string): Promise<readonly RuntimeModel[]> {
      const { found, target } = await reach(id)
      if (!target) throw new AppError('conflict', reasonOf(found))
      const { kind, endpoint } = target
      const answer = await asked(signal => modelLists(endpoint, () => kind.models(endpoint, signal)))
      if ('error' in answer) throw new AppError('upstream_unreachable', `runtime ${id}: ${answer.error}`)
      return answer.value
    },
  }
}

const reasonOf = ({ id, problem }: KnownRuntime): string => `runtime ${id} ${problem}`

/** Keeps lists for a while, so that callers cannot spend the provider's rate limit. Failures are not kept. */
function createModelLists(nowMs: () => number) {
  interface Listed {
    readonly endpoint: RuntimeEndpoint
    readonly atMs: number
    readonly models: Promise<readonly RuntimeModel[]>
  }
  const lists = new Map<string, Listed>()
  return async (endpoint: RuntimeEndpoint, read: () => Promise<readonly RuntimeModel[]>) => {
    const { id } = endpoint
    const before = lists.get(id)
    const isFresh = before && nowMs() - before.atMs < modelsLiveMs && isDeepStrictEqual(before.endpoint, endpoint)
    if (isFresh) return before.models
    const made = { endpoint, atMs: nowMs(), models: read() }
    lists.set(id, made)
    try {
      return await made.models
    } catch (error) {
      if (lists.get(id) === made) lists.delete(id)
      throw error
    }
  }
}
