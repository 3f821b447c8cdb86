import type { Cluster } from './cluster.ts'
import type { Random } from './random.ts'

/** What a case may use. Everything given to `defer` is undone when the case ends, last first. */
export interface Bench {
  readonly random: Random
  /** Factor by which random faults last longer than usual. */
  readonly times: number
  /** A folder of the case's own below the temp folder. */
  readonly folder: string
  /** The database server that the cases share; a case that stops servers starts its own. */
  readonly cluster: Cluster
  /** Aborts when the case ends, before anything is undone: clients leave. */
  readonly signal: AbortSignal
  defer(undo: () => Promise<unknown> | unknown): void
  /** A line for people who watch. */
  log(line: string): void
}

/** Result of a case that passed. */
export interface Outcome {
  readonly rounds: number
  /** Measured numbers, with their units in the names. */
  readonly numbers: Readonly<Record<string, number | string>>
}

/** One fault, and the proof that the contract holds under it. Rejects when it does not. */
export interface FaultCase {
  /** As in the table of faults, with a letter for its variants. */
  readonly id: string
  /** What it is about; cases are also chosen by it. */
  readonly group?: string
  readonly title: string
  run(bench: Bench): Promise<Outcome>
}

/** This machine cannot run the case; `message` has the reason. Never a pass. */
export class Skipped extends Error {
  override readonly name = 'Skipped'
}
