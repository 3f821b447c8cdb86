import type { pause } from '../../platform/timers.ts'
import type { RunContext, RunPrompt, RunSession } from '../runtime.ts'
import type { CursorApi } from './api.ts'
import type { Words } from './normalize.ts'
import type { Notes } from './notes.ts'
import type { Reading } from './reading.ts'

/** What the runtime needs besides its endpoint. */
export interface CursorDeps {
  /** Block of the first prompt that holds what the session's agent remembers; empty without any. */
  readonly memories: (session: RunSession) => Promise<string>
  /** Waits between calls that are made again; `pause` of the platform unless given. */
  readonly wait?: typeof pause
}

/** One run while it goes on. */
export interface CursorTask extends Required<CursorDeps> {
  readonly api: CursorApi
  readonly session: RunSession
  readonly prompt: RunPrompt
  readonly context: RunContext
  readonly notes: Notes
  readonly words: Words
  /** What was read of the run; undefined before it is looked at. */
  reading: Reading | undefined
}

/** True when the run has to end here, for whatever reason. */
export const mustLeave = ({ signal, isDraining }: Pick<RunContext, 'signal' | 'isDraining'>): boolean =>
  signal.aborted || isDraining()
