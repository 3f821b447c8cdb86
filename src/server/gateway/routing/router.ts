import type { RouterSettings } from '../../config/deployments.ts'
import { AppError } from '../../platform/errors.ts'
import { pause } from '../../platform/timers.ts'
import type { Attempt, Call, DiscardedAnswer, Outcome, ParsedRequest, Sink, Target } from '../core/call.ts'
import type { ChosenAdapter } from '../format-adapters.ts'
import { noTokens } from '../tokens/token-counts.ts'
import { UpstreamInterrupted } from '../upstream/upstream-failure.ts'
import type { MakeTry } from './attempts.ts'
import type { Cooldowns } from './cooldowns.ts'
import { createFallbackPlan, type FallbackPlan, type FallbackReason } from './fallbacks.ts'
import type { Load } from './pick.ts'
import { pick } from './pick.ts'
import { backoffMs, type Failure, isFailure, retryAfterMs, verdictOf } from './retryable.ts'

/** Deployment that can serve a call, with the format adapter for it. */
export interface Served extends Target, ChosenAdapter {}

/** A call to route, with the configuration in force when it began. */
export interface RouteRequest {
  readonly call: Call
  readonly parsed: ParsedRequest
  readonly settings: RouterSettings
  /** Deployments of the requested model. */
  readonly candidates: readonly Served[]
  /** Returns the deployments of another model that can serve this kind of call; empty for an unknown model. */
  readonly groupOf: (name: string) => readonly Served[]
  /** Headers that the gateway adds to every answer. */
  readonly ownHeaders: Readonly<Record<string, string>>
  readonly startedMs: number
}

/** Result of routing: the outcome of the answer that went to the sink, or the last failure with the sink untouched. */
export interface RouteResult {
  readonly ending: Outcome | Failure
  /** The last attempt; undefined when no deployment could be tried. */
  readonly attempt: Attempt | undefined
  readonly attempts: number
  /** Answers that upstreams bill although the client did not get them, in the order of the attempts. */
  readonly discarded: readonly DiscardedAnswer[]
  /** The request that the response cache answered; absent when an upstream was called. */
  readonly replayed?: Pick<RouteRequest, 'call' | 'parsed' | 'startedMs'>
}

/** Routes a call to a deployment, with retries and fallbacks. Contains the only retry loop. Never rejects. */
export type Router = (routeRequest: RouteRequest, sink: Sink) => Promise<RouteResult>

interface Deps {
  readonly makeTry: MakeTry
  readonly cooldowns: Cooldowns
  readonly load: Load
  readonly random: () => number
  /** Monotonic. */
  readonly nowMs: () => number
  /** Defaults to `pause` of the platform. */
  readonly wait?: typeof pause
}

/** Total time that one call may wait between attempts. When it is used up, the next fallback is tried. */
const maxWaitMs = 10_000
/** Waits in a row of a call that finds the probe of another call in flight each time. */
const maxWaits = 8

/** Creates the router over the state of all deployments. Source: Gateway, section 3. */
export function createRouter(deps: Deps): Router {
  return (routeRequest, sink) => new RoutedCall(deps, routeRequest, sink).route()
}

/** When a deployment that failed may be retried. */
interface RetryTime {
  /** Monotonic. */
  readonly fromMs: number
  /** True when the upstream stated the time. */
  readonly isStated: boolean
}

interface Group {
  readonly name: string
  readonly members: readonly Served[]
  /** Deployments that failed in this call; undefined: not retried. */
  readonly failed: Map<Served, RetryTime | undefined>
  /** Retries left in this group. */
  retries: number
}

/** Routing state of one call. */
class RoutedCall {
  readonly #deps: Deps
  readonly #request: RouteRequest
  readonly #sink: Sink
  #plan: FallbackPlan | undefined
  #attempts = 0
  #attempt: Attempt | undefined
  #failure: Failure | undefined
  readonly #discarded: DiscardedAnswer[] = []
  #waits = 0
  #waitedMs = 0

  constructor(deps: Deps, routeRequest: RouteRequest, sink: Sink) {
    this.#deps = deps
    this.#request = routeRequest
    this.#sink = sink
  }

  async route(): Promise<RouteResult> {
    const { parsed, candidates } = this.#request
    let group: Group | undefined = this.#group(parsed.model, candidates)
    let ending: Outcome | undefined
    while (group && !ending) {
      const passed = await this.#tryGroup(group)
      if (typeof passed === 'object') ending = passed
      else group = this.#groupAfter(group, passed)
    }
    ending ??= this.#request.call.signal.aborted ? this.#aborted() : undefined
    return {
      ending: ending ?? this.#failure ?? this.#overloaded(),
      attempt: this.#attempt,
      attempts: this.#attempts,
      discarded: this.#discarded,
    }
  }

  /** Returns the outcome in this group, or the reason to try a fallback; `final` when no fallback may be tried. */
  async #tryGroup(group: Group): Promise<Outcome | FallbackReason | 'final'> {
    for (;;) {
      let served = this.#untried(group)
      for (let waits = 0; !served; waits++) {
        const readyMs = waits < maxWaits ? await this.#waitForRetry(group) : undefined
        if (readyMs === undefined) return 'exhausted'
        // No await between this choice and the attempt: only one of the waiting calls may become the probe.
        served = this.#ready(group, readyMs)
      }
      const ending = await this.#try(served, group)
      if (!isFailure(ending)) return ending
      const wayOut = this.#noteFailure(group, served, ending)
      if (wayOut !== undefined) return wayOut
    }
  }

  /** Returns the reason to leave the group after this failure; undefined when the group may still serve the call. */
  #noteFailure(group: Group, served: Served, failure: Failure): FallbackReason | 'final' | undefined {
    this.#failure = failure
    if (!(failure instanceof AppError) && failure.usage) this.#discarded.push({ target: served, usage: failure.usage })
    const verdict = verdictOf(failure)
    if (verdict === 'final') return fallbackReasonOf(failure)
    if (verdict === 'again' && group.retries-- === 0) return 'exhausted'
    group.failed.set(served, verdict === 'again' ? this.#retryTime(failure) : undefined)
    return undefined
  }

  /** Outcome of a call whose client disconnected between two attempts; the last attempt may still be billed. */
  #aborted(): Outcome {
    const failure = this.#failure
    return failure instanceof UpstreamInterrupted
      ? { ...abortedBetweenAttempts, unstatedMs: failure.unstatedMs }
      : abortedBetweenAttempts
  }

  #group(name: string, members: readonly Served[]): Group {
    return { name, members, failed: new Map(), retries: this.#request.settings.retries }
  }

  #try(served: Served, group: Group): Outcome | Promise<Outcome | Failure> {
    const { call, parsed, ownHeaders, startedMs, settings } = this.#request
    if (this.#attempts > 0 && call.signal.aborted) return this.#aborted()
    this.#attempts++
    const attempt: Attempt = {
      call,
      parsed,
      target: served,
      ownHeaders: {
        ...ownHeaders,
        'x-switchyard-deployment': served.deployment.id,
        'x-switchyard-attempts': String(this.#attempts),
      },
      startedMs,
      ...(this.#hasPolicyFallback(group) && { hasPolicyFallback: true }),
    }
    this.#attempt = attempt
    const isAlone = group.members.length === 1
    const part = { number: this.#attempts, adapter: served.adapter, cooldown: settings.cooldown, isAlone }
    return this.#deps.makeTry({ attempt, ...part }, this.#sink)
  }

  /** Picks a deployment that has not failed in this call. */
  #untried(group: Group): Served | undefined {
    const { members, failed } = group
    if (members.length === 1) return failed.size === 0 ? members[0] : undefined
    return this.#pick(group.members.filter(served => !group.failed.has(served) && this.#isOpen(served, group)))
  }

  /** Waits until the first failed deployment may be retried. Returns that time; undefined if too far away. */
  async #waitForRetry(group: Group): Promise<number | undefined> {
    const { random, nowMs, wait = pause } = this.#deps
    const times = this.#repeatable(group).map(({ readyMs }) => readyMs)
    if (times.length === 0) return undefined
    const first = Math.min(...times)
    // Jitter is added on top of the upstream's retry-after, which is the same for all callers.
    const waitMs = Math.max(0, first - nowMs()) + backoffMs(this.#waits, random)
    if (this.#waitedMs + waitMs > maxWaitMs) return undefined
    this.#waits++
    this.#waitedMs += waitMs
    await wait(waitMs, this.#request.call.signal)
    return first
  }

  /** Picks the deployment for the attempt after a wait. */
  #ready(group: Group, readyMs: number): Served | undefined {
    const repeatable = this.#repeatable(group).filter(entry => entry.readyMs <= readyMs)
    const open = repeatable.filter(({ served }) => this.#isOpen(served, group))
    return this.#untried(group) ?? this.#pick(open.map(({ served }) => served))
  }

  /** Deployments that may be retried. Waits for cooldowns that an upstream requested, unless there is a fallback. */
  #repeatable(group: Group) {
    const waitsForCooldown = !this.#planFrom(group).hasNext(labelOf(group), 'exhausted')
    return [...group.failed].flatMap(([served, time]) => {
      if (!time) return []
      if (this.#isOpen(served, group)) return [{ served, readyMs: time.fromMs }]
      const { cooldownMs } = this.#deps.cooldowns.health(served.deployment)
      const readyMs = Math.max(time.fromMs, this.#deps.nowMs() + cooldownMs)
      return waitsForCooldown && time.isStated ? [{ served, readyMs }] : []
    })
  }

  #isOpen({ deployment }: Served, { members }: Group): boolean {
    return members.length === 1 || this.#deps.cooldowns.gateOf(deployment) !== 'closed'
  }

  #pick(candidates: readonly Served[]): Served | undefined {
    if (candidates.length < 2) return candidates[0]
    const { random, load } = this.#deps
    const session = this.#request.settings.sticky ? sessionOf(this.#request.call) : undefined
    return pick(candidates, { random, session, isFull: load.isFull })
  }

  #retryTime(failure: Failure): RetryTime {
    const waitMs = failure instanceof AppError ? undefined : retryAfterMs(failure.headers, Date.now())
    return { fromMs: this.#deps.nowMs() + (waitMs ?? 0), isStated: waitMs !== undefined }
  }

  /** Returns the group of the next fallback; undefined when there is none left. */
  #groupAfter(failed: Group, reason: FallbackReason | 'final'): Group | undefined {
    if (reason === 'final') return undefined
    const name = this.#planFrom(failed).next(labelOf(failed), reason)
    return name === undefined ? undefined : this.#group(name, this.#request.groupOf(name))
  }

  /** Creates the plan on first use, when `group` is still that of the requested model. */
  #planFrom(group: Group): FallbackPlan {
    const { settings, groupOf, call } = this.#request
    this.#plan ??= createFallbackPlan({
      settings,
      requested: labelOf(group),
      header: [call.headers['x-switchyard-fallbacks']].flat()[0],
      isServed: name => groupOf(name).length > 0,
    })
    return this.#plan
  }

  #hasPolicyFallback(group: Group): boolean {
    const { settings, call } = this.#request
    const hasHeader = call.headers['x-switchyard-fallbacks'] !== undefined
    if (!hasHeader && Object.keys(settings.policyFallbacks).length === 0) return false
    return this.#planFrom(group).hasNext(labelOf(group), 'policy')
  }

  #overloaded(): AppError {
    const { candidates, parsed } = this.#request
    const cooldownMs = Math.min(
      ...candidates.map(({ deployment }) => this.#deps.cooldowns.health(deployment).cooldownMs),
    )
    // Jitter: with the same figure for all, all clients would retry in the same second.
    const seconds = Math.max(1, Math.ceil((cooldownMs / 1000) * (1 + this.#deps.random() / 2)))
    return new AppError(
      'overloaded',
      `all deployments of ${parsed.model.slice(0, 200)} are cooling down; retry after ${seconds} s`,
      { headers: { 'retry-after': String(seconds) } },
    )
  }
}

/** Names of a group, as fallback lists refer to it. */
const labelOf = ({ name, members }: Group) => ({ name, alias: members[0]?.deployment.alias ?? name })

/** Reason to try another model after a failure that retries cannot fix. */
const fallbackReasonOf = (failure: Failure): FallbackReason | 'final' =>
  failure instanceof AppError ? 'final' : (failure.reason ?? 'final')

/** Session whose calls go to the same deployment, so that its prompt cache is reused. */
const sessionOf = ({ session, headers }: Call): string | undefined =>
  session?.session_id ?? [headers['x-claude-code-session-id']].flat()[0]

/** Outcome of a call whose client disconnected between two attempts. */
const abortedBetweenAttempts: Outcome = {
  outcome: 'aborted',
  status: undefined,
  stopReason: undefined,
  usage: noTokens,
  firstContentMs: undefined,
}
