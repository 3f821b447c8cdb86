import { Recent } from '../../platform/recent.ts'
import type { TraceContext } from '../../platform/trace-context.ts'
import type { TracedRun } from '../telemetry.ts'
import { type Continued, continuedTrace } from './trace-ids.ts'

/** Trace of a run. */
export interface RunTrace extends Continued {
  /** The requests of the prompts that joined the run. */
  readonly links: readonly TraceContext[]
}

/** Runs whose requests have a trace context; a process runs far fewer at once. The oldest are forgotten. */
const maxRuns = 10_000

/** Traces of the runs in this process. */
export type RunTraces = ReturnType<typeof createRunTraces>

export function createRunTraces(sample: number) {
  const traces = new Recent<RunTrace>(maxRuns)
  return {
    note({ runId, requests: [first, ...joined] }: Pick<TracedRun, 'runId' | 'requests'>): void {
      const links = joined.filter(request => request !== undefined)
      if (first || links.length > 0) traces.set(runId, { ...continuedTrace(first, runId, sample), links })
    },
    /** Returns the trace of a run: that of the request that sent its first prompt, else one with an id from its own. */
    of: (runId: string): RunTrace => traces.get(runId) ?? { ...continuedTrace(undefined, runId, sample), links: [] },
  }
}
