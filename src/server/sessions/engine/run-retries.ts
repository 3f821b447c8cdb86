import { DatabaseUnavailable } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import { pause } from '../../platform/timers.ts'
import { FenceLost, whileLeased } from '../log/event-log.ts'
import type { QueuedPrompt } from '../queue/prompt-store.ts'
import type { LeasedSession } from './leases.ts'

/** Internal faults that one prompt has met in a row under this owner. */
interface FaultCounts {
  /** The database was unreachable. */
  readonly database: number
  /** All others: a bug, or a machine without disk space or memory. */
  readonly internal: number
}

/** What to do with a prompt after an internal fault. */
type NextTry =
  /** Retry after this many milliseconds. */
  | { readonly afterMs: number; readonly faults: FaultCounts }
  /** Hand the lease over; any process retries the prompt later. */
  | 'hand over'
  /** End the prompt with an internal error. */
  | 'give up'

export const noFaults: FaultCounts = { database: 0, internal: 0 }

const firstDatabaseMs = 250
/** After 250, 500, 1,000 and 2,000 ms another owner gets the session. */
const maxDatabaseTries = 4
const firstInternalMs = 1_000
/** Retries after 1 s and 4 s, then none: each may cost a model call. */
const maxInternalTries = 2

/** Returns what to do after a run threw `error`. Database faults never end a prompt. `random` is from 0 to 1. */
export function afterFault(error: unknown, faults: FaultCounts, random: number): NextTry {
  if (error instanceof DatabaseUnavailable) {
    if (faults.database >= maxDatabaseTries) return 'hand over'
    const afterMs = firstDatabaseMs * 2 ** faults.database * (0.5 + random / 2)
    return { afterMs, faults: { ...faults, database: faults.database + 1 } }
  }
  if (faults.internal >= maxInternalTries) return 'give up'
  return {
    afterMs: firstInternalMs * 4 ** faults.internal * (0.5 + random / 2),
    faults: { ...faults, internal: faults.internal + 1 },
  }
}

/** A prompt and the operations of its owner. `run` and `giveUp` return true when they released the lease. */
interface Attempts {
  readonly leased: LeasedSession
  readonly first: QueuedPrompt
  /** Returns the prompt that is first in the queue of the session now. */
  readonly next: () => Promise<QueuedPrompt | undefined>
  /** `isResumed` means that the previous owner was interrupted during the prompt. */
  readonly run: (prompt: QueuedPrompt, isResumed: boolean) => Promise<boolean>
  readonly giveUp: (prompt: QueuedPrompt, fault: unknown) => Promise<boolean>
  readonly isDraining: () => boolean
  readonly shutdown: AbortSignal
  readonly log: Log
}

/**
 * Runs a prompt and retries it after internal faults. Resolves when it has ended or another prompt is first in the
 * queue, with true when the lease was released. Rejects when the session has another owner, or the lease must be handed
 * over.
 */
export async function runWithRetries(attempts: Attempts): Promise<boolean> {
  const { leased, first, shutdown, log } = attempts
  const stored = async () => {
    const prompt = await whileLeased(leased, attempts.next)
    return prompt?.id === first.id ? prompt : undefined
  }
  let faults = noFaults
  let isResumed = leased.wasAbandoned
  for (let prompt: QueuedPrompt | undefined = first; prompt && !attempts.isDraining(); prompt = await stored()) {
    try {
      return await attempts.run(prompt, isResumed)
    } catch (error) {
      const next = error instanceof FenceLost ? 'hand over' : afterFault(error, faults, Math.random())
      if (next === 'hand over') throw error
      log.warn({ err: error, session_id: leased.sessionId, prompt_id: first.id }, 'run failed: internal error')
      if (next === 'give up') return giveUpStored(attempts, await stored(), error)
      await pause(next.afterMs, AbortSignal.any([leased.lost, shutdown]))
      faults = next.faults
      isResumed = false
    }
  }
  return false
}

const giveUpStored = async ({ giveUp }: Attempts, prompt: QueuedPrompt | undefined, fault: unknown): Promise<boolean> =>
  prompt !== undefined && giveUp(prompt, fault)
