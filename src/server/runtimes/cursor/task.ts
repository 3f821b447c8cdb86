import type { pause } from '../../platform/timers.ts'
import type { RunContext, RunPrompt, RunSession } from '../runtime.ts'
import type { CursorApi } from './api.ts'
import type { Words } from './normalize.ts'
import type { Notes } from './notes.ts'
import type { Reading } from './reading.ts'

/** Dependencies of the runtime besides its endpoint. */
export interface CursorDeps {
  /** Returns the text block with the memories of the session's agent for the first prompt; empty without any. */
  readonly memories: (session: RunSession) => Promise<string>
  /** Waits between retries; `pause` of the platform by default. */
  readonly wait?: typeof pause
}

/** A run in progress. */
export interface CursorTask extends Required<CursorDeps> {
  readonly api: CursorApi
  readonly session: RunSession
  readonly prompt: RunPrompt
  readonly context: RunContext
  readonly notes: Notes
  readonly words: Words
  /** Reading of the run; undefined before it is followed. */
  reading: Reading | undefined
}

/** Reports whether this process must leave the run. */
export const mustLeave = ({ signal, isDraining }: Pick<RunContext, 'signal' | 'isDraining'>): boolean =>
  signal.aborted || isDraining()
