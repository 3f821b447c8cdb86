import type { pause } from '../../platform/timers.ts'
import { type RunContext, RuntimeFailure } from '../runtime.ts'

/** Consecutive failed calls before a run fails. */
const maxFailures = 5
/** Consecutive streams that ended, or timed out, without a new event. */
const maxEmptyStreams = 20
const firstWaitMs = 500
const maxWaitMs = 30_000
const maxRetryAfterMs = 60_000
/** How often a wait checks whether the session must be handed over. */
const pollMs = 500

export type Wait = typeof pause

/**
 * Waits between tries with a server that fails or closes its stream: longer each time, until the maximum is reached.
 */
export function createBackoff({ signal, isDraining }: Pick<RunContext, 'signal' | 'isDraining'>, wait: Wait) {
  let failures = 0
  let emptyStreams = 0

  const waitFor = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0 && !signal.aborted && !isDraining(); left -= pollMs)
      await wait(Math.min(left, pollMs), signal)
  }

  return {
    /** Call it when a new event has arrived. */
    reset(): void {
      failures = 0
      emptyStreams = 0
    },

    /** Waits after a failed call; rejects with the failure when a retry is useless or the maximum is reached. */
    async afterFailure(failure: RuntimeFailure): Promise<void> {
      failures += 1
      if (!isPassing(failure) || failures > maxFailures) throw failure
      await waitFor(Math.max(backOff(failures), Math.min(failure.retryAfterMs ?? 0, maxRetryAfterMs)))
    },

    /** Waits before the next stream; not at all after one with new events. `failure` is how the last one failed. */
    async afterStream(failure: RuntimeFailure | undefined): Promise<void> {
      failures = 0
      emptyStreams += 1
      if (failure && !isPassing(failure)) throw failure
      if (emptyStreams > maxEmptyStreams) throw failure ?? neverEnds()
      await waitFor(emptyStreams === 1 ? 0 : backOff(emptyStreams - 1))
    },
  }
}

const neverEnds = () =>
  new RuntimeFailure(
    'model_request_failed_error',
    `the runtime closed its stream ${maxEmptyStreams} times without a new event`,
  )

const backOff = (tries: number): number => Math.min(maxWaitMs, firstWaitMs * 2 ** (tries - 1))

/** True for failed connections and for statuses that allow a retry. */
const isPassing = ({ status }: RuntimeFailure): boolean =>
  status === undefined || status === 408 || status === 409 || status === 425 || status === 429 || status >= 500
