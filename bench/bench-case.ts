/** One measured number. */
export interface Figure {
  readonly name: string
  readonly value: number
  /** Empty for a ratio. */
  readonly unit: string
  /** The value must not be above it; absent for a figure that is only reported. */
  readonly target?: number
  /** Context of the value, such as the rounds or what it is compared with. */
  readonly detail?: string
  /** The chart that it is a bar of, and what the bar is called. */
  readonly bar?: { readonly chart: string; readonly label: string }
}

/** What a case may use. */
export interface Place {
  /** An empty folder of the case's own, which other users may pass through; removed when the case has ended. */
  readonly folder: string
  /** A line for people who watch. */
  log(line: string): void
}

/** A measurement. Rejects when what it measures did not work: a wrong answer has no speed. */
export interface BenchCase {
  readonly name: string
  readonly title: string
  run(place: Place): Promise<Figure[]>
}
