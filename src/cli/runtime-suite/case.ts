import type { Bench } from './bench.ts'

/** The flags of a runtime that cases look at. */
export type Flag = 'streaming' | 'interrupt' | 'steer' | 'approvals' | 'cost' | 'model_per_prompt'

/** One thing that a runtime has to do the same as all others. */
export interface SuiteCase {
  readonly id: string
  /** What is shown, as a claim about the runtime. */
  readonly shows: string
  /** The flag that claims it; absent: every runtime has to do it. */
  readonly flag?: Flag
  /** Throws `CheckFailed`, or `NotShown` when nothing came that could be looked at. */
  readonly check: (bench: Bench) => Promise<void>
  /** What the API promises of a runtime that does not claim it. */
  readonly refusal?: { readonly shows: string; readonly check: (bench: Bench) => Promise<void> }
}
