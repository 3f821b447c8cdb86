import { codeOfStatus, type ErrorCode } from '../../../contract/errors.ts'
import { openAiError } from '../../../contract/openai.ts'
import { jsonOr, recordOf, textIn } from '../../platform/json.ts'
import type { Refusal } from '../call.ts'

const tooLong = /prompt is too long|context (window|length)|maximum context/i

/** A failure of a model call as OpenAI's clients read it. Some of them look for the code of a prompt too long. */
export function openAiProblem(code: ErrorCode, message: string, reason?: Refusal['reason']) {
  const isRequest = code === 'invalid_request' || code === 'payload_too_large'
  if (reason === 'context_window' || (isRequest && tooLong.test(message)))
    return openAiError('invalid_request', message, 'context_length_exceeded')
  return reason === 'policy' ? openAiError('invalid_request', message, 'content_filter') : openAiError(code, message)
}

/** The same refusal with a body in OpenAI's format. Anthropic's envelope is taken apart, and any other that has a text. */
export function openAiRefusal(refusal: Refusal): Refusal {
  const { status, headers, body, reason } = refusal
  const problem = openAiProblem(
    codeOf(status),
    messageIn(body) ?? `the upstream answered with status ${status}`,
    reason,
  )
  return {
    ...refusal,
    headers: { ...headers, 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(problem)),
  }
}

function codeOf(status: number): ErrorCode {
  const code = codeOfStatus(status)
  return code === 'internal' && status < 500 ? 'invalid_request' : code
}

function messageIn(body: Buffer): string | undefined {
  const text = body.toString().trim()
  const value = jsonOr(text, undefined)
  if (value === undefined) return text.slice(0, 1_000) || undefined
  const { error, message, detail } = recordOf(value)
  return textIn(recordOf(error)['message']) ?? textIn(error) ?? textIn(message) ?? textIn(detail)
}
