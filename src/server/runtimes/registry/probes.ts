import { basename } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { ApiSpec, RuntimeTest } from '../../../contract/runtimes.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import { echoesOfEndpoint, textWithoutSecrets } from '../endpoint-secrets.ts'
import { type RuntimeEndpoint, RuntimeFailure, type RuntimeKind, type RuntimeModel } from '../runtime.ts'
import type { ExternalRuntime, ExternalRuntimes } from './external-runtimes.ts'
import type { RuntimeStore } from './store.ts'

interface Deps {
  /** The id of the service's own runtime, which needs no test. */
  readonly ownId: string
  readonly kinds: ReadonlyMap<ApiSpec, RuntimeKind>
  readonly externals: Pick<ExternalRuntimes, 'find'>
  readonly store: Pick<RuntimeStore, 'setHealth'>
  readonly nowMs: () => number
  /** Timeout of one request to a runtime; 15,000 by default. */
  readonly timeoutMs?: number
  /** Timeout when a program has to be started; 60,000 by default. */
  readonly startMs?: number
}

/** Requests to external runtimes that do not start a run. */
export type Probes = ReturnType<typeof createProbes>

const modelsTtlMs = 60_000

/** A usable runtime. */
interface Target {
  readonly kind: RuntimeKind
  readonly endpoint: RuntimeEndpoint
}

export function createProbes({ ownId, kinds, externals, store, nowMs, timeoutMs = 15_000, startMs = 60_000 }: Deps) {
  const modelLists = createModelLists(nowMs)

  function targetOf({ spec, endpoint }: ExternalRuntime): Target | undefined {
    const kind = kinds.get(spec)
    return kind && endpoint && { kind, endpoint }
  }

  /** Finds a runtime; `target` is undefined while it cannot be used. */
  async function reach(id: string) {
    const found = await externals.find(id)
    if (!found) throw notFound('runtime', id)
    return { found, target: targetOf(found) }
  }

  /** Runs a request with a timeout; a failure of the runtime becomes an error text for the caller. */
  async function attempt<T>(
    { endpoint }: Target,
    request: (signal: AbortSignal) => Promise<T>,
  ): Promise<{ value: T } | { error: string }> {
    const { command } = endpoint
    const timeout = AbortSignal.timeout(command ? startMs : timeoutMs)
    try {
      return { value: await request(timeout) }
    } catch (error) {
      if (error instanceof RuntimeFailure)
        return { error: textWithoutSecrets(echoesOfEndpoint(endpoint), error.message) }
      if (!timeout.aborted) throw error
      return { error: command ? slowStart(command, startMs) : `the runtime ${notWithin(timeoutMs)}` }
    }
  }

  /** Returns the problem of a runtime; null when it answers and accepts the credential. */
  async function problemWith(target: Target, signals: readonly AbortSignal[] = []): Promise<string | null> {
    const { kind, endpoint } = target
    const answer = await attempt(target, timeout => kind.check(endpoint, AbortSignal.any([timeout, ...signals])))
    return 'error' in answer ? answer.error : null
  }

  return {
    /**
     * Tests whether a runtime answers and accepts the credential, and stores the result. `not_found` for an unknown
     * name.
     */
    async test(id: string): Promise<RuntimeTest> {
      if (id === ownId) return { ok: true, latency_ms: 0 }
      const { found, target } = await reach(id)
      if (!target) return { ok: false, latency_ms: 0, error: reasonOf(found) }
      const began = nowMs()
      const error = await problemWith(target)
      const latency_ms = Math.round(nowMs() - began)
      await store.setHealth({ id, api_base: found.apiBase, version: found.version, error })
      return { ok: error === null, latency_ms, ...(error !== null && { error }) }
    },

    /** Returns the problem of a runtime, null for none, and does not store it. Rejects once `signal` aborts. */
    async check(found: ExternalRuntime, signal: AbortSignal): Promise<string | null> {
      const target = targetOf(found)
      const error = target ? await problemWith(target, [signal]) : reasonOf(found)
      // The result of an aborted check is meaningless.
      signal.throwIfAborted()
      return error
    },

    /** Lists the models of an external runtime, at most a minute old. `not_found` for an unknown name. */
    async models(id: string): Promise<readonly RuntimeModel[]> {
      const { found, target } = await reach(id)
      if (!target) throw new AppError('conflict', reasonOf(found))
      const { kind, endpoint } = target
      const answer = await attempt(target, signal => modelLists(endpoint, () => kind.models(endpoint, signal)))
      if ('error' in answer) throw new AppError('upstream_unreachable', `runtime ${id}: ${answer.error}`)
      return answer.value
    },
  }
}

const notWithin = (ms: number): string => `did not answer within ${ms / 1000} s`

const slowStart = ([program = '']: readonly string[], ms: number): string =>
  `program ${basename(program)} ${notWithin(ms)} of its start; run its command manually as the user of the service: ` +
  'it may download files, wait for a login, or need a file or variable that its entry in the configuration file does not set'

const reasonOf = ({ id, problem }: ExternalRuntime): string => `runtime ${id} ${problem}`

/** Caches lists for a minute, so that callers cannot exhaust the provider's rate limit. Failures are not cached. */
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
    const isFresh = before && nowMs() - before.atMs < modelsTtlMs && isDeepStrictEqual(before.endpoint, endpoint)
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
