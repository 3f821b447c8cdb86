import { DatabaseUnavailable } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import { pause } from '../../platform/timers.ts'
import { FenceLost, whileHeld } from '../log/event-log.ts'
import type { QueuedPrompt } from '../queue/prompt-store.ts'
import type { HeldSession } from './leases.ts'

/** Faults of ours that one prompt has met in a row, on this owner. */
interface OwnFaults {
  /** The database was unreachable. */
  readonly database: number
  /** Anything else: a bug, or a machine without disk or memory. */
  readonly internal: number
}

/** What to do with a prompt after a fault of ours. */
type NextTry =
  /** Run it again after so many milliseconds. */
  | { readonly afterMs: number; readonly faults: OwnFaults }
  /** Give the lease up; any owner runs the prompt later. */
  | 'hand over'
  /** End the prompt with an internal error. */
  | 'give up'

export const noFaults: OwnFaults = { database: 0, internal: 0 }

const firstDatabaseMs = 250
/** 250, 500, 1,000, 2,000 ms; then another owner may have more luck. */
const maxDatabaseTries = 4
const firstInternalMs = 1_000
/** Each try may cost a model call: 1 s and 4 s later, then no more. */
const maxInternalTries = 2

/** What follows on `error`, which a run threw. Faults of the database never end a prompt. `random` is from 0 to 1. */
export function afterFault(error: unknown, faults: OwnFaults, random: number): NextTry {
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

/** A prompt, and what its owner does with it. A run, and its end, say whether they gave the lease back. */
interface Attempts {
  readonly held: HeldSession
  readonly first: QueuedPrompt
  /** The prompt that comes next in the session, as it is stored now. */
  readonly next: () => Promise<QueuedPrompt | undefined>
  /** `isResumed`: an owner before us was cut off in the middle of it. */
  readonly run: (prompt: QueuedPrompt, isResumed: boolean) => Promise<boolean>
  readonly giveUp: (prompt: QueuedPrompt, fault: unknown) => Promise<boolean>
  readonly isDraining: () => boolean
  readonly shutdown: AbortSignal
  readonly log: Log
}

/**
 * Runs a prompt, again where a fault of ours stops it. Resolves when it has ended, or another one comes first now, true when
 * the lease was given back; rejects when the session has another owner, or is to be handed over.
 */
export async function runDespiteFaults(attempts: Attempts): Promise<boolean> {
  const { held, first, shutdown, log } = attempts
  const stored = async () => {
    const prompt = await whileHeld(held, attempts.next)
    return prompt?.id === first.id ? prompt : undefined
  }
  let faults = noFaults
  let isResumed = held.wasAbandoned
  for (let prompt: QueuedPrompt | undefined = first; prompt && !attempts.isDraining(); prompt = await stored()) {
    try {
      return await attempts.run(prompt, isResumed)
    } catch (error) {
      const next = error instanceof FenceLost ? 'hand over' : afterFault(error, faults, Math.random())
      if (next === 'hand over') throw error
      log.warn({ err: error, session_id: held.sessionId, prompt_id: first.id }, 'a run met a fault of ours')
      if (next === 'give up') return givenUp(attempts, await stored(), error)
      await pause(next.afterMs, AbortSignal.any([held.lost, shutdown]))
      faults = next.faults
      isResumed = false
    }
  }
  return false
}

const givenUp = async ({ giveUp }: Attempts, prompt: QueuedPrompt | undefined, fault: unknown): Promise<boolean> =>
  prompt !== undefined && giveUp(prompt, fault)
