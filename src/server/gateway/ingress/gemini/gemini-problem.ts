import { googleError } from '../../../../contract/gemini.ts'
import type { ProblemWriter } from '../client-refusal.ts'

/** A failure of a model call as Google's clients read it. */
export const geminiProblem: ProblemWriter = (code, message, reason) =>
  googleError(reason === undefined ? code : 'invalid_request', message)
