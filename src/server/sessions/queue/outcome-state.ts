import type { NewEvent } from '../../../contract/events.ts'
import { isFinal, type OutcomeState } from '../../../contract/outcomes.ts'

/** Progress of an outcome to record with its prompt. */
export interface OutcomeChange {
  readonly state: OutcomeState
  /** True when no further evaluation follows. */
  readonly isFinal: boolean
}

/** Returns the progress that events report; undefined when none is about an evaluation. */
export function outcomeChange(events: readonly NewEvent[]): OutcomeChange | undefined {
  let change: OutcomeChange | undefined
  for (const event of events) {
    if (event.type === 'span.outcome_evaluation_start') {
      const state = { result: 'evaluating', iteration: event.iteration, explanation: null } as const
      change = { state, isFinal: false }
    } else if (event.type === 'span.outcome_evaluation_end') {
      const { result, iteration, explanation } = event
      change = { state: { result, iteration, explanation }, isFinal: isFinal(result) }
    }
  }
  return change
}
