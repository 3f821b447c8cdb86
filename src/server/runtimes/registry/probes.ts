import { basename } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { RuntimeTest } from '../../../contract/runtimes.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import { echoesOfEndpoint, wordsWithout } from '../endpoint-secrets.ts'
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
  /** The same where a program is started for it; 60,000 by default. */
  readonly startMs?: number
}

/** Questions to foreign runtimes that start no run. */
export type Probes = ReturnType<typeof createProbes>

const modelsLiveMs = 60_000

/** A runtime that can be asked. */
interface Target {
  readonly kind: RuntimeKind
  readonly endpoint: RuntimeEndpoint
}

export function createProbes({ ownId, kinds, known, store, nowMs, timeoutMs = 15_000, startMs = 60_000 }: Deps) {
  const modelLists = createModelLists(nowMs)

  function targetOf({ spec, endpoint }: KnownRuntime): Target | undefined {
    const kind = kinds.get(spec)
    return kind && endpoint && { kind, endpoint }
  }

  /** The part that speaks to a runtime; undefined while it cannot be used. */
  async function reach(id: string) {
    const found = await known.find(id)
    if (!found) throw notFound('runtime', id)
    return { found, target: targetOf(found) }
  }

  /** What goes wrong becomes `undefined`, with the words for the caller. */
  async function asked<T>(
    { endpoint }: Target,
    question: (signal: AbortSignal) => Promise<T>,
  ): Promise<{ value: T } | { error: string }> {
    const { command } = endpoint
    const late = AbortSignal.timeout(command ? startMs : timeoutMs)
    try {
      return { value: await question(late) }
    } catch (error) {
      if (error instanceof RuntimeFailure) return { error: wordsWithout(echoesOfEndpoint(endpoint), error.message) }
      if (!late.aborted) throw error
      return { error: command ? slowStart(command, startMs) : `the runtime ${notWithin(timeoutMs)}` }
    }
  }

  /** Null: it answers, and takes the credential. */
  async function wrongWith(target: Target, ends: readonly AbortSignal[] = []): Promise<string | null> {
    const { kind, endpoint } = target
    const answer = await asked(target, late => kind.check(endpoint, AbortSignal.any([late, ...ends])))
    return 'error' in answer ? answer.error : null
  }

  return {
    /** Asks whether a runtime answers and takes the credential, and keeps what was said. `not_found` for an unknown name. */
    async test(id: string): Promise<RuntimeTest> {
      if (id === ownId) return { ok: true, latency_ms: 0 }
      const { found, target } = await reach(id)
      if (!target) return { ok: false, latency_ms: 0, error: reasonOf(found) }
      const began = nowMs()
      const error = await wrongWith(target)
      const latency_ms = Math.round(nowMs() - began)
      await store.setHealth({ id, api_base: found.apiBase, version: found.version, error })
      return { ok: error === null, latency_ms, ...(error !== null && { error }) }
    },

    /** What is wrong with a runtime that can be used, null when nothing is; keeps nothing. Rejects once `left` aborts. */
    async look(found: KnownRuntime, left: AbortSignal): Promise<string | null> {
      const target = targetOf(found)
      const error = target ? await wrongWith(target, [left]) : reasonOf(found)
      // What a look says that was cut off says nothing.
      left.throwIfAborted()
      return error
    },

    /** Models of a foreign runtime, at most a minute old. `not_found` for an unknown name. */
    async models(id: string): Promise<readonly RuntimeModel[]> {
      const { found, target } = await reach(id)
      if (!target) throw new AppError('conflict', reasonOf(found))
      const { kind, endpoint } = target
      const answer = await asked(target, signal => modelLists(endpoint, () => kind.models(endpoint, signal)))
      if ('error' in answer) throw new AppError('upstream_unreachable', `runtime ${id}: ${answer.error}`)
      return answer.value
    },
  }
}

const notWithin = (ms: number): string => `did not answer within ${ms / 1000} s`

const slowStart = ([program = '']: readonly string[], ms: number): string =>
  `the program ${basename(program)} ${notWithin(ms)} of its start; start its command by hand, as the user of the service: ` +
  'it may download something, wait for a login, or need a file or a variable that its entry in the file does not give it'

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
