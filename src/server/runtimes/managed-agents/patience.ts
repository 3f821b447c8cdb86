import type { pause } from '../../platform/timers.ts'
import { type RunContext, RuntimeFailure } from '../runtime.ts'

/** Calls in a row that failed before a run is given up. */
const maxFailures = 5
/** Streams in a row that ended, or fell silent, without anything new. */
const maxBarren = 20
const firstWaitMs = 500
const maxWaitMs = 30_000
const maxToldMs = 60_000
/** How often a wait looks whether the process wants to hand the session over. */
const lookMs = 500

export type Wait = typeof pause

/** How long a run bears with a server that fails, or that closes its stream: it waits longer each time, then gives up. */
export function createPatience({ signal, isDraining }: Pick<RunContext, 'signal' | 'isDraining'>, wait: Wait) {
  let failures = 0
  let barren = 0

  const waitFor = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0 && !signal.aborted && !isDraining(); left -= lookMs)
      await wait(Math.min(left, lookMs), signal)
  }

  return {
    /** Something new came. */
    heard(): void {
      failures = 0
      barren = 0
    },

    /** Waits after a call that failed; rejects with its failure when no later one can be hoped to do better. */
    async afterFailure(failure: RuntimeFailure): Promise<void> {
      failures += 1
      if (!isPassing(failure) || failures > maxFailures) throw failure
      await waitFor(Math.max(backOff(failures), Math.min(failure.retryAfterMs ?? 0, maxToldMs)))
    },

    /** Waits before the next stream; not at all behind one that brought something. `failure` says how the last one broke. */
    async afterStream(failure: RuntimeFailure | undefined): Promise<void> {
      failures = 0
      barren += 1
      if (failure && !isPassing(failure)) throw failure
      if (barren > maxBarren) throw failure ?? neverEnds()
      await waitFor(barren === 1 ? 0 : backOff(barren - 1))
    },
  }
}

const neverEnds = () =>
  new RuntimeFailure(
    'model_request_failed_error',
    'the runtime closes its stream again and again, and the run does not end',
  )

const backOff = (tries: number): number => Math.min(maxWaitMs, firstWaitMs * 2 ** (tries - 1))

/** Connections that break, and the statuses that are meant to be tried again. */
const isPassing = ({ status }: RuntimeFailure): boolean =>
  status === undefined || status === 408 || status === 409 || status === 425 || status === 429 || status >= 500
