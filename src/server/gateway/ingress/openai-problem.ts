import type { ErrorCode } from '../../../contract/errors.ts'
import { openAiError } from '../../../contract/openai.ts'
import type { Refusal } from '../call.ts'

const tooLong = /prompt is too long|context (window|length)|maximum context/i

/** A failure of a model call as OpenAI's clients read it. Some of them look for the code of a prompt too long. */
export function openAiProblem(code: ErrorCode, message: string, reason?: Refusal['reason']) {
  const isRequest = code === 'invalid_request' || code === 'payload_too_large'
  if (reason === 'context_window' || (isRequest && tooLong.test(message)))
    return openAiError('invalid_request', message, 'context_length_exceeded')
  return reason === 'policy' ? openAiError('invalid_request', message, 'content_filter') : openAiError(code, message)
}
