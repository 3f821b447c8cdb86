import { a2aError, a2aRpcError } from '../../contract/a2a-errors.ts'
import { awsErrorType } from '../../contract/aws.ts'
import { codeOfStatus, statusOfCode } from '../../contract/error-codes.ts'
import { anthropicError, unauthorizedBody } from '../../contract/errors.ts'
import { googleError } from '../../contract/gemini.ts'
import { openAiError } from '../../contract/openai.ts'
import type { ErrorShape } from '../../contract/route.ts'
import { AppError } from '../platform/errors.ts'
import { jsonRpcError } from './json-rpc-error.ts'

/** Shape of one error body. */
export type BodyShape = Exclude<ErrorShape, 'by-header'>

interface ErrorAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  /** True for server failures, which must be logged with their cause. */
  readonly isOurs: boolean
}

/** Returns the error response for a thrown value. The only place that builds error bodies. */
export function errorAnswer(thrown: unknown, shape: BodyShape, requestId: string): ErrorAnswer {
  const error = asAppError(thrown)
  const status = statusOfCode(error.code)
  const isOurs = error.code === 'internal' || error.code === 'unavailable'
  const headers = shape === 'aws' ? { 'x-amzn-errortype': awsErrorType(error.code), ...error.headers } : error.headers
  return { status, headers, body: bodyOf(error, shape, requestId), isOurs }
}

function bodyOf(error: AppError, shape: BodyShape, requestId: string): unknown {
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
    case 'a2a':
      return a2aError(error)
    case 'a2a-rpc':
      return a2aRpcError(error, null)
    case 'jsonrpc':
      return jsonRpcError(error, null)
  }
}

/** Converts errors of Fastify, which have a status below 500 and a safe message. Anything else is a bug. */
function asAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown
  const { statusCode, message } = (thrown ?? {}) as { statusCode?: unknown; message?: unknown }
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return new AppError(codeOfStatus(statusCode), plainMessages[statusCode] ?? String(message), { cause: thrown })
  }
  return new AppError('internal', 'internal error; the log has the cause under this request id', { cause: thrown })
}

const plainMessages: Readonly<Record<number, string>> = {
  413: 'request body is larger than this operation allows',
  415: 'content type must be application/json',
}
