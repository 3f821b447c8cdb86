import type { CooldownSettings, Deployment } from '../../config/config.ts'

/** What a deployment may be used for now. `probe`: its rest is over, and one call may try it. `shut`: nothing. */
export type Gate = 'open' | 'probe' | 'shut'

/** The one call that tries a deployment after its rest. Only the first word about it counts. */
export interface Probe {
  passed(): void
  /** The call ended without a verdict: the next one is the probe. */
  left(): void
}

/** How a deployment does. */
export interface Health {
  readonly state: 'healthy' | 'cooling' | 'probing'
  /** What is left of the rest; 0 unless cooling. */
  readonly restMs: number
  /** The class of the last failure since the start, whatever came after it. */
  readonly lastError: string | undefined
}

/** One failure. */
export interface FailureNote {
  readonly errorClass: string
  /** Put out at once for so long, instead of being counted. */
  readonly restMs?: number
  /** The call was the probe. */
  readonly probe: Probe | undefined
}

/** Which deployments rest after failures. Source: Gateway, section 3. */
export interface Cooldowns {
  gateOf(deployment: Deployment): Gate
  /** Takes the probe of a deployment whose gate says so. */
  startProbe(deployment: Deployment): Probe
  /** Counts a failure. For how long the deployment is out from now on; undefined when nothing has changed by it. */
  fail(deployment: Deployment, note: FailureNote): number | undefined
  /** Notes the failure of a deployment that must not rest. */
  note(deployment: Deployment, errorClass: string): void
  /** Another process has put the deployment out. */
  follow(deployment: Deployment, restMs: number, errorClass: string): void
  health(deployment: Deployment): Health
}

/** A rest that is longer by less than this is not worth telling. */
const newsMs = 1_000

interface State {
  failuresMs: number[]
  /** Undefined: healthy. */
  untilMs: number | undefined
  probe: Probe | undefined
  lastError: string
}

interface Options {
  readonly settings: () => CooldownSettings
  /** Monotonic. */
  readonly nowMs: () => number
}

/** Keeps the state of each deployment with the deployment itself: what replaces it under the same id starts afresh. */
export function createCooldowns({ settings, nowMs }: Options): Cooldowns {
  const states = new WeakMap<Deployment, State>()

  const stateOf = (deployment: Deployment, lastError: string): State => {
    const state = states.get(deployment) ?? { failuresMs: [], untilMs: undefined, probe: undefined, lastError }
    state.lastError = lastError
    states.set(deployment, state)
    return state
  }

  /** True when it changes something: many calls may fail at the same time. */
  const rest = (state: State, restMs: number): boolean => {
    const untilMs = nowMs() + restMs
    const isNews = state.untilMs === undefined || untilMs > state.untilMs + newsMs
    state.untilMs = Math.max(state.untilMs ?? 0, untilMs)
    state.failuresMs = []
    state.probe = undefined
    return isNews
  }

  /** True when this failure is one too many. */
  const isTooMany = (state: State): boolean => {
    const { failures, windowMs } = settings()
    const now = nowMs()
    state.failuresMs = [...state.failuresMs.filter(at => now - at < windowMs), now]
    return state.failuresMs.length >= failures
  }

  return {
    gateOf(deployment) {
      const state = states.get(deployment)
      if (state?.untilMs === undefined) return 'open'
      return state.probe || nowMs() < state.untilMs ? 'shut' : 'probe'
    },
    startProbe(deployment) {
      const state = states.get(deployment)
      const end = (untilMs: number | undefined): void => {
        if (state?.probe !== probe) return
        state.probe = undefined
        state.untilMs = untilMs
      }
      const probe: Probe = { passed: () => end(undefined), left: () => end(nowMs()) }
      if (state) state.probe = probe
      return probe
    },
    fail(deployment, { errorClass, restMs, probe }) {
      const state = stateOf(deployment, errorClass)
      const isProbe = probe !== undefined && state.probe === probe
      // Calls that began before the rest say nothing new, unless they were told for how long to stay away.
      if (state.untilMs !== undefined && !isProbe && !restMs) return undefined
      if (!restMs && !isProbe && !isTooMany(state)) return undefined
      const outMs = restMs || settings().outMs
      return rest(state, outMs) ? outMs : undefined
    },
    note: (deployment, errorClass) => void stateOf(deployment, errorClass),
    follow(deployment, restMs, errorClass) {
      rest(stateOf(deployment, errorClass), restMs)
    },
    health(deployment) {
      const state = states.get(deployment)
      const restMs = Math.max(0, (state?.untilMs ?? 0) - nowMs())
      const lastError = state?.lastError
      if (state?.untilMs === undefined) return { state: 'healthy', restMs: 0, lastError }
      return { state: restMs > 0 ? 'cooling' : 'probing', restMs, lastError }
    },
  }
}
