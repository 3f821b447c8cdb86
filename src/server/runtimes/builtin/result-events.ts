import type { NewEvent } from '../../../contract/events.ts'
import { recordOf, textOf } from '../../platform/json.ts'
import { failed } from '../runtime.ts'

const invalidResult = 'invalid_result_error'

/** Says that the model is asked once more. */
export const askedAgain = (problem: string): NewEvent => ({
  type: 'session.error',
  error: {
    type: invalidResult,
    message: `the answer ${problem}; the model is asked once more`,
    problem,
    retry_status: { type: 'retrying', attempt: 1, next_at: new Date().toISOString() },
  },
})

export const withoutResult = (problem: string): NewEvent =>
  failed(invalidResult, `the answer ${problem}; the model was asked once more before`)

/** What the model is told when it is asked once more; undefined for any other event. */
export function repairOrder(event: NewEvent): string | undefined {
  const { type, problem } = recordOf(event['error'])
  if (event.type !== 'session.error' || type !== invalidResult || problem === undefined) return undefined
  return `Your answer ${textOf(problem)}. Answer again, with nothing but JSON that fits the schema.`
}
