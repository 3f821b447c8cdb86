import type { pause } from '../../platform/timers.ts'
import { createBackoff, isPassing } from '../remote/backoff.ts'
import { type RunContext, type RunPrompt, type RunSession, RuntimeFailure } from '../runtime.ts'
import type { Agent } from './agent.ts'
import type { Notes } from './notes.ts'
import { isUnusable } from './protocol-errors.ts'
import type { Reading } from './reading.ts'

/** A run in progress. */
export interface A2aRun {
  readonly agent: Agent
  readonly session: RunSession
  readonly prompt: RunPrompt
  readonly context: RunContext
  readonly notes: Notes
  readonly reading: Reading
  /** Waits between tries. */
  readonly wait: typeof pause
  /** Returns the text block with the memories of the session's agent; empty without any. */
  readonly memories: (session: RunSession) => Promise<string>
  /** Cleans a text of the agent for an error. */
  readonly clean: (text: string) => string
  /** How often the task has shown the question that the prompt answers. */
  staleReads: number
}

/** A call that fails for so long fails the run. */
const maxLostMs = 300_000

/** Reports whether this process must leave the run. */
export const mustLeave = ({ signal, isDraining }: Pick<RunContext, 'signal' | 'isDraining'>): boolean =>
  signal.aborted || isDraining()

/** Reports whether the same call may succeed later. */
export const isRetryable = (error: unknown): error is RuntimeFailure => isPassing(error) && !isUnusable(error)

/** Makes a call that changes nothing, and retries it while it may succeed later. */
export async function withRetries<T>(
  { context, wait }: Pick<A2aRun, 'context' | 'wait'>,
  call: () => Promise<T>,
  maxMs = maxLostMs,
): Promise<T> {
  const backoff = createBackoff({ wait, signal: context.signal, maxMs })
  for (;;) {
    try {
      return await call()
    } catch (failure) {
      if (!isRetryable(failure) || context.isDraining() || !(await backoff.wait(failure.retryAfterMs))) throw failure
    }
  }
}

/** An agent that lost its connection may still be storing the task. */
export const secondSearchMs = 1_000

/** A person waits for the interrupt; the task may end at the agent later. */
const cancelMs = 2_000

/** Cancels a task; returns false when the agent did not confirm that. */
export async function tryToCancel({ api }: Pick<Agent, 'api'>, task: string): Promise<boolean> {
  try {
    await api.cancel(task, cancelMs)
    return true
  } catch (failure) {
    // The next prompt tries again.
    if (failure instanceof RuntimeFailure) return false
    throw failure
  }
}
