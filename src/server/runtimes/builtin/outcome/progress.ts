import { budgetReached, contextCompacted, endsRun, isOfThread } from '../../../../contract/events.ts'
import type { LastVerdict, Outcome } from '../../../../contract/outcomes.ts'
import type { ReadEvent } from '../context/transcript.ts'
import { addUsage, noUsage } from '../usage-totals.ts'
import { evaluationProblem, type OpenEvaluation } from './outcome-events.ts'

/** How far the evaluation of outcomes has come, as the log says. */
export class OutcomeProgress {
  #open: OpenEvaluation | undefined
  #last: LastVerdict | undefined

  /** Returns an independent copy. */
  copy(): OutcomeProgress {
    const copy = new OutcomeProgress()
    copy.#open = this.#open
    copy.#last = this.#last
    return copy
  }

  add(event: ReadEvent): void {
    if (isOfThread(event)) return
    if (endsRun(event) && !budgetReached(event)) this.#open = undefined
    switch (event.type) {
      case 'span.outcome_evaluation_start': {
        const { id = '', outcome_id: outcomeId, iteration } = event
        this.#open = { startId: id, outcomeId, iteration, usage: noUsage, problem: undefined }
        break
      }
      case 'span.outcome_evaluation_end': {
        const { outcome_id, iteration, result, explanation } = event
        this.#open = undefined
        this.#last = { outcome_id, iteration, result, explanation }
        break
      }
      case 'span.model_request_end':
        if (this.#open) this.#open = { ...this.#open, usage: addUsage(this.#open.usage, event.model_usage) }
        break
      case 'session.error':
        if (this.#open) this.#open = { ...this.#open, problem: evaluationProblem(event) ?? this.#open.problem }
        break
      case 'agent.thread_context_compacted':
        this.#last = contextCompacted(event)?.outcome ?? this.#last
        break
      default:
    }
  }

  /** Returns the open evaluation of an outcome. A fork may have one of a prompt that it does not continue. */
  evaluationOf(outcome: Pick<Outcome, 'outcome_id'> | null): OpenEvaluation | undefined {
    return this.#open?.outcomeId === outcome?.outcome_id ? this.#open : undefined
  }

  /** Returns the last verdict on an outcome; undefined before the first. */
  verdictOn(outcome: Pick<Outcome, 'outcome_id'> | null): LastVerdict | undefined {
    return this.#last?.outcome_id === outcome?.outcome_id ? this.#last : undefined
  }

  /** The last verdict in the log, whichever outcome it is on. */
  get lastVerdict(): LastVerdict | undefined {
    return this.#last
  }
}
