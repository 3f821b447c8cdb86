import type { SuiteContext } from './context.ts'

/** Capability flags that cases check. */
export type Flag = 'streaming' | 'interrupt' | 'steer' | 'approvals' | 'cost' | 'model_per_prompt'

/** One behaviour that all runtimes must share. */
export interface SuiteCase {
  readonly id: string
  /** The checked behaviour, as a statement. */
  readonly shows: string
  /** Flag that claims the behaviour; absent: required of every runtime. */
  readonly flag?: Flag
  /** Throws `CheckFailed`, or `NotShown` when the runtime did nothing that could be checked. */
  readonly check: (context: SuiteContext) => Promise<void>
  /** Check of the documented behaviour of a runtime that does not claim the flag. */
  readonly unsupported?: { readonly shows: string; readonly check: (context: SuiteContext) => Promise<void> }
}
