import type { NewEvent, NewEventOf } from '../../../../contract/events.ts'
import type { Outcome, OutcomeVerdict } from '../../../../contract/outcomes.ts'
import { newId } from '../../../platform/ids.ts'
import type { ModelUsage } from '../answer-events.ts'
import { addUsage, type UsageTotals } from '../usage-totals.ts'

/** An evaluation without an end. */
export interface OpenEvaluation {
  /** Id of the event that started it. */
  readonly startId: string
  readonly outcomeId: string
  readonly iteration: number
  /** Tokens of its requests so far. */
  readonly usage: UsageTotals
  /** Why the grader was asked again; undefined before its second try. */
  readonly problem: string | undefined
}

const invalidEvaluation = 'invalid_evaluation_error'

/** Event of an evaluation that begins; it is stored with the answer that it is about. */
export const evaluationStarted = ({ outcome_id }: Outcome, iteration: number): NewEvent => ({
  id: newId('evt'),
  type: 'span.outcome_evaluation_start',
  outcome_id,
  iteration,
})

/** Event that shows that the grader is running. */
export const evaluationOngoing = ({ outcomeId, iteration }: OpenEvaluation): NewEvent => ({
  type: 'span.outcome_evaluation_ongoing',
  outcome_id: outcomeId,
  iteration,
})

/** Event of the verdict. `usage` are the tokens of a request whose end is not in the log yet. */
export const evaluationEnded = (
  open: OpenEvaluation,
  { result, explanation }: { readonly result: OutcomeVerdict; readonly explanation: string },
  usage?: ModelUsage,
): NewEventOf<'span.outcome_evaluation_end'> => ({
  type: 'span.outcome_evaluation_end',
  outcome_evaluation_start_id: open.startId,
  outcome_id: open.outcomeId,
  iteration: open.iteration,
  result,
  explanation,
  usage: addUsage(open.usage, usage),
})

/** Event of an answer that is no verdict; the grader is asked again. */
export const verdictRequested = (problem: string): NewEvent => ({
  type: 'session.error',
  error: {
    type: invalidEvaluation,
    message: `the answer of the grader ${problem}; asking it again`,
    problem,
    retry_status: { type: 'retrying', attempt: 1, next_at: new Date().toISOString() },
  },
})

/** Returns what was wrong with the grader's answer; undefined for other events. */
export function evaluationProblem(event: NewEvent): string | undefined {
  const { type, problem } = event.error ?? {}
  return type === invalidEvaluation ? problem : undefined
}

/** Returns the next turn of the agent after a verdict; undefined when none follows. */
export function instructionAfter(event: NewEvent): string | undefined {
  if (event.type !== 'span.outcome_evaluation_end') return undefined
  const feedback = `<feedback>\n${event.explanation}\n</feedback>`
  switch (event.result) {
    case 'needs_revision':
      return `A grader has judged the result by the rubric, and it does not meet it yet:\n\n${feedback}\n\nRevise the result, then say what you changed.`
    case 'max_iterations_reached':
      return `A grader has judged the result by the rubric for the last time, and it does not meet it:\n\n${feedback}\n\nNo further evaluation follows. Say briefly what the result is now and what it lacks.`
    default:
      return undefined
  }
}
