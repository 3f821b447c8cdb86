import { awsErrorType } from '../../contract/aws.ts'
import { anthropicError, codeOfStatus, statusOfCode, unauthorizedBody } from '../../contract/errors.ts'
import { googleError } from '../../contract/gemini.ts'
import { openAiError } from '../../contract/openai.ts'
import type { ErrorShape } from '../../contract/route.ts'
import { AppError } from '../platform/errors.ts'

interface ErrorAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  /** True for a failure of ours, which the log must hold with its cause. */
  readonly isOurs: boolean
}

/** What a thrown value becomes on the wire. The only place that builds error bodies. */
export function errorAnswer(thrown: unknown, shape: ErrorShape, requestId: string): ErrorAnswer {
  const error = asAppError(thrown)
  const status = statusOfCode(error.code)
  const isOurs = error.code === 'internal' || error.code === 'unavailable'
  const headers = shape === 'aws' ? { 'x-amzn-errortype': awsErrorType(error.code), ...error.headers } : error.headers
  return { status, headers, body: bodyOf(error, shape, requestId), isOurs }
}

function bodyOf(error: AppError, shape: ErrorShape, requestId: string): unknown {
  if (error.code === 'unauthorized') return unauthorizedBody
  switch (shape) {
    case 'plain':
      return { error: error.message }
    case 'nested':
      return { error: { type: 'gateway_error', message: error.message, ...error.fields } }
    case 'anthropic':
      return anthropicError(error.code, error.message, requestId)
    case 'openai':
      return openAiError(error.code, error.message, error.fields['code'])
    case 'google':
      return googleError(error.code, error.message)
    case 'aws':
      return { message: error.message }
  }
}

/** The HTTP library's own refusals carry a status below 500 and a safe text; anything else is a bug of ours. */
function asAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown
  const { statusCode, message } = (thrown ?? {}) as { statusCode?: unknown; message?: unknown }
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return new AppError(codeOfStatus(statusCode), plainRefusals[statusCode] ?? String(message), { cause: thrown })
  }
  return new AppError('internal', 'internal error; the log has the cause under this request id', { cause: thrown })
}

const plainRefusals: Readonly<Record<number, string>> = {
  413: 'the body is larger than this route allows',
  415: 'the content type must be application/json',
}
