import { AppError, invalid } from '../platform/errors.ts'
import type { Ask, Call } from './call.ts'
import { scanTopLevel } from './splice.ts'

/**
 * Checks the few fields that routing and budgets depend on; all else is open and passes. Throws `invalid_request` that
 * names the field. Source: Gateway, section 1.
 */
export function readRequest({ kind, body }: Pick<Call, 'kind' | 'body'>): Ask {
  const parsed = parsedObject(body)
  const { model, messages, max_tokens: maxTokens, stream } = parsed
  if (typeof model !== 'string') throw invalid(model === undefined ? 'model is required' : 'model must be a string')
  if (model === '') throw invalid('model must not be empty')
  if (!Array.isArray(messages)) {
    throw invalid(messages === undefined ? 'messages is required' : 'messages must be an array')
  }
  if (messages.length === 0) throw invalid('messages must not be empty')
  if (kind === 'messages') checkMaxTokens(maxTokens)
  if (stream !== undefined && typeof stream !== 'boolean') throw invalid('stream must be a boolean')
  const { doubled, model: modelSpan } = scanTopLevel(body)
  if (doubled !== undefined) throw invalid(`${doubled} is given twice`)
  // Both readings of the body agree on valid JSON, so this would be a fault of the scanner.
  if (!modelSpan) throw new AppError('internal', 'the body could not be read')
  return {
    model,
    modelSpan,
    stream: kind === 'messages' && stream === true,
    maxTokens: typeof maxTokens === 'number' ? maxTokens : 0,
  }
}

function checkMaxTokens(value: unknown): void {
  if (value === undefined) throw invalid('max_tokens is required')
  if (typeof value !== 'number' || !Number.isInteger(value)) throw invalid('max_tokens must be an integer')
  if (value < 1) throw invalid('max_tokens must be 1 or more')
}

/** The JSON object in `body`. Throws `invalid_request` for anything else. */
export function parsedObject(body: Buffer): Record<string, unknown> {
  if (body.length === 0) throw invalid('the body is empty')
  let value: unknown
  try {
    value = JSON.parse(body.toString('utf8'))
  } catch (cause) {
    throw new AppError('invalid_request', 'the body is not valid JSON', { cause })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid('the body must be a JSON object')
  return value as Record<string, unknown>
}
