import type { NewEvent } from '../../../contract/events.ts'
import { failed } from '../runtime.ts'

const invalidResult = 'invalid_result_error'

/** Event of an invalid answer that the model is asked to repair. */
export const repairRequested = (problem: string): NewEvent => ({
  type: 'session.error',
  error: {
    type: invalidResult,
    message: `the answer ${problem}; asking the model again`,
    problem,
    retry_status: { type: 'retrying', attempt: 1, next_at: new Date().toISOString() },
  },
})

/** Last event of a run whose second answer is invalid, too. */
export const resultFailure = (problem: string): NewEvent =>
  failed(invalidResult, `the answer ${problem}; the model had a second try`)

/** Returns the instruction for the model that belongs to such an event; undefined for any other event. */
export function repairInstruction(event: NewEvent): string | undefined {
  const { type, problem } = event.error ?? {}
  if (type !== invalidResult || problem === undefined) return undefined
  return `Your answer ${problem}. Answer again, with nothing but JSON that fits the schema.`
}
