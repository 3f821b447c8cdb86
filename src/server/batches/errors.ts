import type { ErrorCode } from '../../contract/error-codes.ts'
import { anthropicError } from '../../contract/errors.ts'
import { openAiError } from '../../contract/openai.ts'
import { AppError } from '../platform/errors.ts'
import type { BatchFormat } from './batch-store.ts'

/** Returns the error for a batch that the caller cannot access, whether or not it exists. */
export const noBatch = (id: string): AppError =>
  new AppError('not_found', `batch ${id.slice(0, 200)} not found`, { fields: { code: 'batch_not_found' } })

/** Open batches of a principal; each may have 256 MB of requests. */
const maxOpen = 100

/** Throws `rate_limited` when a principal has as many open batches as it may. */
export function rejectMany(open: number): void {
  if (open >= maxOpen)
    throw new AppError('rate_limited', `${open} batches have not ended, the most at a time; retry when one has ended`, {
      headers: { 'retry-after': '60' },
    })
}

/** Returns the body of an error as the call itself would answer it, on one line. */
export const errorBody = (format: BatchFormat, code: ErrorCode, message: string, requestId: string): string =>
  JSON.stringify(format === 'anthropic' ? anthropicError(code, message, requestId) : openAiError(code, message))

/** Returns the result of a line without an answer: the error of its format. */
export const lineError = (format: BatchFormat, code: ErrorCode, message: string): string =>
  format === 'anthropic'
    ? JSON.stringify({ type: 'error', error: anthropicError(code, message, '').error })
    : JSON.stringify({ code: openAiError(code, message).error.code ?? 'invalid_request', message })
