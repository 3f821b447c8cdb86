import type { CooldownSettings, Deployment } from '../../config/deployments.ts'

/** Whether calls may use a deployment now. `probe`: one call may try it after its cooldown. `closed`: no call may. */
export type Gate = 'open' | 'probe' | 'closed'

/** The one call that tries a deployment after its cooldown. Only the first result counts. */
export interface Probe {
  passed(): void
  /** The call ended without a result: the next call becomes the probe. */
  abandoned(): void
}

/** Health of a deployment. */
export interface Health {
  readonly state: 'healthy' | 'cooling' | 'probing'
  /** Remaining cooldown; 0 unless cooling. */
  readonly cooldownMs: number
  /** Class of the last failure since the process started, also after later successes. */
  readonly lastError: string | undefined
  /** Time since that failure in this process; undefined without one. */
  readonly lastErrorAgoMs: number | undefined
}

/** One failure. */
export interface FailureNote {
  readonly errorClass: string
  /** Starts a cooldown of this length at once, instead of counting the failure. */
  readonly cooldownMs?: number
  /** The call was the probe. */
  readonly probe: Probe | undefined
}

/** Cooldowns of deployments after failures. Source: Gateway, section 3. */
export interface Cooldowns {
  gateOf(deployment: Deployment): Gate
  /** Starts the probe of a deployment whose gate is `probe`. */
  startProbe(deployment: Deployment): Probe
  /** Counts a failure. Returns the cooldown that it started or extended, in milliseconds; else undefined. */
  fail(deployment: Deployment, note: FailureNote): number | undefined
  /** Records the failure of a deployment that must not cool down. */
  note(deployment: Deployment, errorClass: string): void
  /** Applies a cooldown that another process started. */
  adopt(deployment: Deployment, cooldownMs: number, errorClass: string): void
  /** Ends the cooldown. Failures before it no longer count. */
  end(deployment: Deployment): void
  health(deployment: Deployment): Health
}

/** A cooldown extended by less than this is not reported to other processes. */
const minExtensionMs = 1_000

interface State {
  failuresMs: number[]
  /** Undefined: healthy. */
  untilMs: number | undefined
  probe: Probe | undefined
  lastError: string
  lastErrorMs: number
}

interface Options {
  readonly settings: () => CooldownSettings
  /** Monotonic. */
  readonly nowMs: () => number
}

/** Creates the cooldowns. State belongs to the deployment object: a replacement with the same id starts healthy. */
export function createCooldowns({ settings, nowMs }: Options): Cooldowns {
  const states = new WeakMap<Deployment, State>()

  const stateOf = (deployment: Deployment, lastError: string): State => {
    const lastErrorMs = nowMs()
    const fresh = { failuresMs: [], untilMs: undefined, probe: undefined, lastError, lastErrorMs }
    const state = states.get(deployment) ?? fresh
    state.lastError = lastError
    state.lastErrorMs = lastErrorMs
    states.set(deployment, state)
    return state
  }

  /** Starts or extends a cooldown. Returns false when nothing changed: many calls may fail at the same time. */
  const coolDown = (state: State, cooldownMs: number): boolean => {
    const untilMs = nowMs() + cooldownMs
    const isExtended = state.untilMs === undefined || untilMs > state.untilMs + minExtensionMs
    state.untilMs = Math.max(state.untilMs ?? 0, untilMs)
    state.failuresMs = []
    state.probe = undefined
    return isExtended
  }

  /** Counts a failure; true when the limit of the window is reached. */
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
      return state.probe || nowMs() < state.untilMs ? 'closed' : 'probe'
    },
    startProbe(deployment) {
      const state = states.get(deployment)
      const end = (untilMs: number | undefined): void => {
        if (state?.probe !== probe) return
        state.probe = undefined
        state.untilMs = untilMs
      }
      const probe: Probe = { passed: () => end(undefined), abandoned: () => end(nowMs()) }
      if (state) state.probe = probe
      return probe
    },
    fail(deployment, { errorClass, cooldownMs, probe }) {
      const state = stateOf(deployment, errorClass)
      const isProbe = probe !== undefined && state.probe === probe
      // Calls that began before the cooldown add no information, unless the upstream sent a retry-after.
      if (state.untilMs !== undefined && !isProbe && !cooldownMs) return undefined
      if (!cooldownMs && !isProbe && !isTooMany(state)) return undefined
      const outMs = cooldownMs || settings().outMs
      return coolDown(state, outMs) ? outMs : undefined
    },
    note: (deployment, errorClass) => void stateOf(deployment, errorClass),
    adopt(deployment, cooldownMs, errorClass) {
      coolDown(stateOf(deployment, errorClass), cooldownMs)
    },
    end(deployment) {
      const state = states.get(deployment)
      if (!state) return
      state.untilMs = undefined
      state.failuresMs = []
      state.probe = undefined
    },
    health(deployment) {
      const state = states.get(deployment)
      const cooldownMs = Math.max(0, (state?.untilMs ?? 0) - nowMs())
      const last = { lastError: state?.lastError, lastErrorAgoMs: state && nowMs() - state.lastErrorMs }
      if (state?.untilMs === undefined) return { state: 'healthy', cooldownMs: 0, ...last }
      return { state: cooldownMs > 0 ? 'cooling' : 'probing', cooldownMs, ...last }
    },
  }
}
