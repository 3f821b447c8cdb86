import type { RouterSettings } from '../../config/config.ts'
import { AppError } from '../../platform/errors.ts'
import { pause } from '../../platform/timers.ts'
import type { Ask, Attempt, Call, GivenUp, Lane, Outcome, Sink, Target } from '../core/call.ts'
import { noTokens } from '../tokens/token-counts.ts'
import { UpstreamCut } from '../upstream/upstream-failure.ts'
import type { MakeTry } from './attempts.ts'
import type { Cooldowns } from './cooldowns.ts'
import { createFallbackPlan, type FallbackPlan, type FallbackReason } from './fallbacks.ts'
import type { Load } from './pick.ts'
import { pick } from './pick.ts'
import { backoffMs, type Failure, isFailure, retryAfterMs, verdictOf } from './retryable.ts'

/** A deployment that can serve the call, with the lane that does it. */
export interface Served extends Target {
  readonly lane: Lane
}

/** A call that is to be routed, with the configuration that it began with. */
export interface Trip {
  readonly call: Call
  readonly ask: Ask
  readonly settings: RouterSettings
  /** The deployments of the name that was asked for. */
  readonly asked: readonly Served[]
  /** The deployments of a name that a lane serves for this kind of call; empty for a name that is not known. */
  readonly groupOf: (name: string) => readonly Served[]
  /** Go out with every answer. */
  readonly ownHeaders: Readonly<Record<string, string>>
  readonly startedMs: number
}

/** Where a call ended: an answer at the sink, or the last failure with the sink untouched. */
export interface Arrival {
  readonly ending: Outcome | Failure
  /** The last one; undefined when no deployment could be tried. */
  readonly attempt: Attempt | undefined
  readonly attempts: number
  /** What upstreams bill besides, in the order of the tries. */
  readonly givenUp: readonly GivenUp[]
  /** Present when the cache answered: what it answered. */
  readonly replayed?: Pick<Trip, 'call' | 'ask' | 'startedMs'>
}

/** Finds a deployment that serves a call. The only retry loop. Never rejects. */
export type Router = (trip: Trip, sink: Sink) => Promise<Arrival>

interface Deps {
  readonly makeTry: MakeTry
  readonly cooldowns: Cooldowns
  readonly load: Load
  readonly random: () => number
  /** Monotonic. */
  readonly nowMs: () => number
  /** `pause` of the platform unless given. */
  readonly wait?: typeof pause
}

/** Waiting of a call in all; a longer wait means to move on. */
const maxWaitMs = 10_000

/** Builds the router over the state of all deployments. Source: Gateway, section 3. */
export function createRouter(deps: Deps): Router {
  return (trip, sink) => new Journey(deps, trip, sink).arrive()
}

interface Group {
  readonly name: string
  readonly members: readonly Served[]
  /** What failed in this call, and when it may be tried again; undefined: never. */
  readonly failed: Map<Served, number | undefined>
  /** How often a deployment that has failed may still be tried again. */
  retries: number
}

/** One call on its way. */
class Journey {
  readonly #deps: Deps
  readonly #trip: Trip
  readonly #sink: Sink
  #plan: FallbackPlan | undefined
  #attempts = 0
  #attempt: Attempt | undefined
  #failure: Failure | undefined
  readonly #givenUp: GivenUp[] = []
  #waits = 0
  #waitedMs = 0

  constructor(deps: Deps, trip: Trip, sink: Sink) {
    this.#deps = deps
    this.#trip = trip
    this.#sink = sink
  }

  async arrive(): Promise<Arrival> {
    const { ask, asked } = this.#trip
    let group: Group | undefined = this.#group(ask.model, asked)
    let ending: Outcome | undefined
    while (group && !ending) {
      const passed = await this.#through(group)
      if (typeof passed === 'object') ending = passed
      else group = this.#groupAfter(group, passed)
    }
    ending ??= this.#trip.call.signal.aborted ? this.#left() : undefined
    return {
      ending: ending ?? this.#failure ?? this.#overloaded(),
      attempt: this.#attempt,
      attempts: this.#attempts,
      givenUp: this.#givenUp,
    }
  }

  /** The call's end in this group, or why another group may serve it; `final` when none may. */
  async #through(group: Group): Promise<Outcome | FallbackReason | 'final'> {
    for (;;) {
      let served = this.#fresh(group)
      if (!served) {
        const readyMs = await this.#waited(group)
        // Nothing may come between this choice and its try: of all that wait, one call is the probe.
        served = readyMs === undefined ? undefined : this.#ready(group, readyMs)
      }
      if (!served) return 'exhausted'
      const isLeft = this.#attempts > 0 && this.#trip.call.signal.aborted
      const ending = isLeft ? this.#left() : await this.#try(served, group)
      if (!isFailure(ending)) return ending
      const wayOut = this.#noteFailure(group, served, ending)
      if (wayOut !== undefined) return wayOut
    }
  }

  /** Why the group is left after this failure; undefined when it may still serve the call. */
  #noteFailure(group: Group, served: Served, failure: Failure): FallbackReason | 'final' | undefined {
    this.#failure = failure
    if (!(failure instanceof AppError) && failure.usage) this.#givenUp.push({ target: served, usage: failure.usage })
    const verdict = verdictOf(failure)
    if (verdict === 'final') return lastWord(failure)
    if (verdict === 'again' && group.retries-- === 0) return 'exhausted'
    group.failed.set(served, verdict === 'again' ? this.#readyMs(failure) : undefined)
    return undefined
  }

  /** The caller left between two tries: the last one may have cost something. */
  #left(): Outcome {
    const failure = this.#failure
    return failure instanceof UpstreamCut ? { ...leftWaiting, unstatedMs: failure.unstatedMs } : leftWaiting
  }

  #group(name: string, members: readonly Served[]): Group {
    return { name, members, failed: new Map(), retries: this.#trip.settings.retries }
  }

  #try(served: Served, group: Group): Promise<Outcome | Failure> {
    const { members } = group
    const { call, ask, ownHeaders, startedMs, settings } = this.#trip
    this.#attempts++
    const attempt: Attempt = {
      call,
      ask,
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
    const { lane } = served
    const { cooldown } = settings
    return this.#deps.makeTry(
      { attempt, number: this.#attempts, lane, cooldown, isAlone: members.length === 1 },
      this.#sink,
    )
  }

  /** A deployment that has not failed in this call. */
  #fresh(group: Group): Served | undefined {
    const { members, failed } = group
    if (members.length === 1) return failed.size === 0 ? members[0] : undefined
    return this.#pick(group.members.filter(served => !group.failed.has(served) && this.#isOpen(served, group)))
  }

  /** Waits until the first of the failed ones may be tried again: that time, or undefined when it is too far. */
  async #waited(group: Group): Promise<number | undefined> {
    const { random, nowMs, wait = pause } = this.#deps
    const times = this.#repeatable(group).map(({ readyMs }) => readyMs)
    if (times.length === 0) return undefined
    const first = Math.min(...times)
    // The jitter comes on top of what the upstream asked for: it has asked all callers for the same.
    const waitMs = Math.max(0, first - nowMs()) + backoffMs(this.#waits, random)
    if (this.#waitedMs + waitMs > maxWaitMs) return undefined
    this.#waits++
    this.#waitedMs += waitMs
    await wait(waitMs, this.#trip.call.signal)
    return first
  }

  /** What may be tried after a wait. */
  #ready(group: Group, readyMs: number): Served | undefined {
    const repeatable = this.#repeatable(group).filter(entry => entry.readyMs <= readyMs)
    return this.#fresh(group) ?? this.#pick(repeatable.map(({ served }) => served))
  }

  #repeatable(group: Group) {
    return [...group.failed].flatMap(([served, readyMs]) =>
      readyMs !== undefined && this.#isOpen(served, group) ? [{ served, readyMs }] : [],
    )
  }

  #isOpen({ deployment }: Served, { members }: Group): boolean {
    return members.length === 1 || this.#deps.cooldowns.gateOf(deployment) !== 'shut'
  }

  #pick(candidates: readonly Served[]): Served | undefined {
    if (candidates.length < 2) return candidates[0]
    const { random, load } = this.#deps
    const session = this.#trip.settings.sticky ? sessionOf(this.#trip.call) : undefined
    return pick(candidates, { random, session, isFull: load.isFull })
  }

  #readyMs(failure: Failure): number {
    const waitMs = failure instanceof AppError ? undefined : retryAfterMs(failure.headers, Date.now())
    return this.#deps.nowMs() + (waitMs ?? 0)
  }

  /** The group of the next fallback that anybody serves. */
  #groupAfter(failed: Group, reason: FallbackReason | 'final'): Group | undefined {
    if (reason === 'final') return undefined
    const name = this.#planFrom(failed).next(labelOf(failed), reason)
    return name === undefined ? undefined : this.#group(name, this.#trip.groupOf(name))
  }

  /** The first group that is asked is the one that the call names. */
  #planFrom(group: Group): FallbackPlan {
    const { settings, groupOf, call } = this.#trip
    this.#plan ??= createFallbackPlan({
      settings,
      asked: labelOf(group),
      header: [call.headers['x-switchyard-fallbacks']].flat()[0],
      isServed: name => groupOf(name).length > 0,
    })
    return this.#plan
  }

  #hasPolicyFallback(group: Group): boolean {
    const { settings, call } = this.#trip
    const hasHeader = call.headers['x-switchyard-fallbacks'] !== undefined
    if (!hasHeader && Object.keys(settings.policyFallbacks).length === 0) return false
    return this.#planFrom(group).hasNext(labelOf(group), 'policy')
  }

  #overloaded(): AppError {
    const { asked, ask } = this.#trip
    const restMs = Math.min(...asked.map(({ deployment }) => this.#deps.cooldowns.health(deployment).restMs))
    // With the same figure for all, all would be back in the same second.
    const seconds = Math.max(1, Math.ceil((restMs / 1000) * (1 + this.#deps.random() / 2)))
    return new AppError(
      'overloaded',
      `all deployments of model ${ask.model.slice(0, 200)} rest after failures; try again in ${seconds} s`,
      { headers: { 'retry-after': String(seconds) } },
    )
  }
}

const labelOf = ({ name, members }: Group) => ({ name, alias: members[0]?.deployment.alias ?? name })

/** Why another model may do what this one refused for good. */
const lastWord = (failure: Failure): FallbackReason | 'final' =>
  failure instanceof AppError ? 'final' : (failure.reason ?? 'final')

/** What stays together for the sake of prompt caches. */
const sessionOf = ({ session, headers }: Call): string | undefined =>
  session?.session_id ?? [headers['x-claude-code-session-id']].flat()[0]

/** The caller left between two attempts. */
const leftWaiting: Outcome = {
  outcome: 'aborted',
  status: undefined,
  stopReason: undefined,
  usage: noTokens,
  firstContentMs: undefined,
}
