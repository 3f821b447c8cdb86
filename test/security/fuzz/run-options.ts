/** The variable through which `npm run fuzz` passes its options to the test. */
export const optionsVariable = 'SWITCHYARD_FUZZ'

/** Options of a run; a short one with a random seed by default. */
export interface RunOptions {
  readonly seed?: number
  readonly minutes?: number
  /** Requests of each operation in a round. */
  readonly requests?: number
  /** Only operations whose id or path contains it. */
  readonly route?: string
}
